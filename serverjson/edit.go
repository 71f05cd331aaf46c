package serverjson

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hallmark-mcp/hallmark/surface"
)

// layout is where the parts of a JSON object lie in its text, and how it is written.
type layout struct {
	open       int // offset behind "{"
	last       int // offset behind the last value; open if there is none
	start, end int // of the value of the member sought; 0 if there is none
	newline    string
	indent     string // of the members
	colon      string
}

// SetFileHashes returns raw with its top-level file_hashes set to hashes, sorted by
// key, and everything else byte for byte as it was. The object is written as the
// document is: its indentation, its line ends. Only Key and Value of hashes are used.
func SetFileHashes(raw []byte, hashes []FileHash) ([]byte, error) {
	entries, err := hashObject(hashes)
	if err != nil {
		return nil, err
	}
	return setAt(raw, []string{"file_hashes"}, entries, "")
}

// member is one of an object that is written. Its value is a string or the members of an object.
type member struct {
	key   string
	value any
}

// hashObject is the value of file_hashes, sorted by key.
func hashObject(hashes []FileHash) ([]member, error) {
	out := []member{}
	for _, h := range hashes {
		out = append(out, member{h.Key, h.Value})
	}
	slices.SortFunc(out, func(a, b member) int { return strings.Compare(a.key, b.key) })
	for i := range out {
		if i > 0 && out[i].key == out[i-1].key {
			return nil, fmt.Errorf("file_hashes: %+q is given twice", clip(out[i].key))
		}
	}
	return out, nil
}

// setAt returns raw, a JSON value, with the value at path, a member's name or an index a step, set to a string or
// to the members of an object. Objects that are missing are made. All else stays byte for byte. unit is what
// the document indents by, "" for what its first member shows.
func setAt(raw []byte, path []string, value any, unit string) ([]byte, error) {
	if bytes.HasPrefix(bytes.TrimLeft(raw, " \t\r\n"), []byte("[")) {
		start, end, err := findElement(raw, path[0])
		if err != nil {
			return nil, err
		}
		inner, err := setAt(raw[start:end], path[1:], value, unit)
		return slices.Concat(raw[:start], inner, raw[end:]), err
	}
	l, err := findLayout(raw, path[0])
	if err != nil {
		return nil, err
	}
	unit = cmp.Or(unit, l.indent)
	switch {
	case l.end > 0 && len(path) == 1:
		return slices.Concat(raw[:l.start], []byte(l.format(value, l.indent, unit)), raw[l.end:]), nil
	case l.end > 0:
		inner, err := setAt(raw[l.start:l.end], path[1:], value, unit)
		return slices.Concat(raw[:l.start], inner, raw[l.end:]), err
	}
	for i := len(path) - 1; i > 0; i-- {
		value = []member{{path[i], value}}
	}
	out := bytes.NewBuffer(slices.Clone(raw[:l.last]))
	if l.last > l.open {
		out.WriteByte(',')
	}
	out.WriteString(l.newline + l.indent + quote(path[0]) + ":" + l.colon + l.format(value, l.indent, unit))
	if l.last == l.open {
		out.WriteString(l.newline)
		out.Write(bytes.TrimLeft(raw[l.last:], " \t\r\n"))
	} else {
		out.Write(raw[l.last:])
	}
	return out.Bytes(), nil
}

// findElement returns where the element of an array is.
func findElement(raw []byte, index string) (start, end int, err error) {
	n, err := strconv.Atoi(index)
	dec := json.NewDecoder(bytes.NewReader(raw))
	if err == nil {
		_, err = dec.Token()
	}
	for ; err == nil && dec.More(); n-- {
		var value json.RawMessage
		if err = dec.Decode(&value); err == nil && n == 0 {
			end = int(dec.InputOffset())
			return end - len(value), end, nil
		}
	}
	return 0, 0, cmp.Or(err, fmt.Errorf("server.json: there is no element %s", index))
}

// format writes a value of a member that is indented by indent.
func (l layout) format(value any, indent, unit string) string {
	members, ok := value.([]member)
	if !ok {
		return quote(fmt.Sprint(value))
	}
	var b strings.Builder
	b.WriteByte('{')
	inner := indent + unit
	if l.newline == "" {
		inner = ""
	}
	for i, m := range members {
		if i > 0 {
			b.WriteByte(',')
			if l.newline == "" && l.colon != "" {
				b.WriteByte(' ')
			}
		}
		b.WriteString(l.newline + inner + quote(m.key) + ":" + l.colon + l.format(m.value, inner, unit))
	}
	if len(members) > 0 && l.newline != "" {
		b.WriteString(l.newline + indent)
	}
	return b.String() + "}"
}

// quote writes a JSON string without the escapes that HTML alone needs.
func quote(s string) string {
	text, _ := encode(s) // strings always encode
	return string(text)
}

// findLayout reads the style of a JSON object, and where its value of member is.
func findLayout(raw []byte, member string) (layout, error) {
	var l layout
	if err := surface.CheckJSON(raw, surface.Limits{Size: MaxSize, Depth: MaxDepth}); err != nil {
		return l, fmt.Errorf("server.json: %w", err)
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return l, errors.New("server.json: is not an object")
	}
	l.open = int(dec.InputOffset())
	l.last = l.open
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return l, fmt.Errorf("server.json: %w", err)
		}
		behind := int(dec.InputOffset())
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return l, fmt.Errorf("server.json: %w", err)
		}
		end := int(dec.InputOffset())
		start := end - len(value)
		if l.last == l.open { // the first member shows the style
			gap := string(raw[l.open:bytes.IndexByte(raw, '"')])
			if i := strings.LastIndexByte(gap, '\n'); i >= 0 {
				l.newline, l.indent = "\n", gap[i+1:]
				if i > 0 && gap[i-1] == '\r' {
					l.newline = "\r\n"
				}
			}
			_, l.colon, _ = strings.Cut(string(raw[behind:start]), ":")
			l.colon = strings.Trim(l.colon, "\r\n\t")
		}
		if key == member {
			l.start, l.end = start, end
		}
		l.last = end
	}
	if l.last == l.open { // {}
		l.newline, l.indent, l.colon = "\n", "  ", " "
	}
	if l.newline == "" && l.colon != "" && l.end == 0 {
		l.indent = " " // {"a": 1, "b": 2}
	}
	return l, nil
}

// MoveFileHashes returns raw with its top-level file_hashes moved into the
// publisher-provided metadata, for a registry that refuses the member. The text is
// compact. Metadata of more than [MaxPublisherMeta] bytes is an error.
func MoveFileHashes(raw []byte) ([]byte, error) {
	if err := surface.CheckJSON(raw, surface.Limits{Size: MaxSize, Depth: MaxDepth}); err != nil {
		return nil, fmt.Errorf("server.json: %w", err)
	}
	var doc, meta, provided map[string]json.RawMessage
	if err := json.Unmarshal(raw, &doc); err != nil || doc == nil {
		return nil, errors.New("server.json: is not an object")
	}
	hashes, ok := doc["file_hashes"]
	if !ok {
		return bytes.Clone(raw), nil
	}
	delete(doc, "file_hashes")
	if m, ok := doc["_meta"]; ok && json.Unmarshal(m, &meta) != nil {
		return nil, errors.New("server.json: _meta is not an object")
	}
	if m, ok := meta[publisherMeta]; ok && json.Unmarshal(m, &provided) != nil {
		return nil, fmt.Errorf("server.json: _meta %s is not an object", publisherMeta)
	}
	provided = setMember(provided, "file_hashes", hashes)
	text, err := encode(provided)
	if err != nil {
		return nil, fmt.Errorf("server.json: %w", err)
	}
	if len(text) > MaxPublisherMeta {
		return nil, fmt.Errorf("server.json: with file_hashes, _meta %s has %d bytes, and at most %d are allowed",
			publisherMeta, len(text), MaxPublisherMeta)
	}
	if text, err = encode(setMember(meta, publisherMeta, text)); err == nil {
		text, err = encode(setMember(doc, "_meta", text))
	}
	if err != nil {
		return nil, fmt.Errorf("server.json: %w", err)
	}
	return text, nil
}

// setMember sets a member of an object, which is made if it is nil.
func setMember(m map[string]json.RawMessage, key string, value json.RawMessage) map[string]json.RawMessage {
	if m == nil {
		m = map[string]json.RawMessage{}
	}
	m[key] = value
	return m
}

// encode writes an object in compact form, without the escapes that HTML alone needs.
func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}
