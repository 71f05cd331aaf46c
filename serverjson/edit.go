package serverjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
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
	l, err := findLayout(raw, "file_hashes")
	if err != nil {
		return nil, err
	}
	entries := map[string]string{}
	for _, h := range hashes {
		if _, ok := entries[h.Key]; ok {
			return nil, fmt.Errorf("file_hashes: %+q is given twice", clip(h.Key))
		}
		entries[h.Key] = h.Value
	}
	value := l.formatObject(entries)
	out := new(bytes.Buffer)
	if l.end > 0 {
		out.Write(raw[:l.start])
		out.WriteString(value)
		out.Write(raw[l.end:])
		return out.Bytes(), nil
	}
	out.Write(raw[:l.last])
	if l.last > l.open {
		out.WriteByte(',')
	}
	out.WriteString(l.newline + l.indent + `"file_hashes":` + l.colon + value)
	if l.last == l.open {
		out.WriteString(l.newline)
		out.Write(bytes.TrimLeft(raw[l.last:], " \t\r\n"))
	} else {
		out.Write(raw[l.last:])
	}
	return out.Bytes(), nil
}

// formatObject writes entries as the value of a member.
func (l layout) formatObject(entries map[string]string) string {
	var b strings.Builder
	b.WriteByte('{')
	inner := l.indent + l.indent
	if l.newline == "" {
		inner = ""
	}
	for i, key := range slices.Sorted(maps.Keys(entries)) {
		if i > 0 {
			b.WriteByte(',')
			if l.newline == "" && l.colon != "" {
				b.WriteByte(' ')
			}
		}
		b.WriteString(l.newline + inner + quote(key) + ":" + l.colon + quote(entries[key]))
	}
	if len(entries) > 0 && l.newline != "" {
		b.WriteString(l.newline + l.indent)
	}
	return b.String() + "}"
}

// quote writes a JSON string without the escapes that HTML alone needs.
func quote(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(s) != nil {
		return `""` // unreachable: strings always encode
	}
	return strings.TrimSuffix(b.String(), "\n")
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
	text, err := encodeObject(provided)
	if err != nil {
		return nil, fmt.Errorf("server.json: %w", err)
	}
	if len(text) > MaxPublisherMeta {
		return nil, fmt.Errorf("server.json: with file_hashes, _meta %s has %d bytes, and at most %d are allowed",
			publisherMeta, len(text), MaxPublisherMeta)
	}
	if text, err = encodeObject(setMember(meta, publisherMeta, text)); err == nil {
		text, err = encodeObject(setMember(doc, "_meta", text))
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

// encodeObject writes an object in compact form, without the escapes that HTML alone needs.
func encodeObject(m map[string]json.RawMessage) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(m)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}
