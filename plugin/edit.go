package plugin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// orderedObject is a JSON object that keeps the order of its members.
type orderedObject struct {
	names  []string
	values map[string]json.RawMessage
}

func parseOrdered(data []byte) (*orderedObject, error) {
	o := &orderedObject{values: map[string]json.RawMessage{}}
	dec := json.NewDecoder(bytes.NewReader(data))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, fmt.Errorf("%s: must be an object", ManifestFile)
	}
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return nil, err
		}
		name, _ := t.(string)
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return nil, err
		}
		o.set(name, raw)
	}
	if _, err := dec.Token(); err != nil && err != io.EOF {
		return nil, err
	}
	return o, nil
}

// set replaces a member where it stands, or adds it at the end. A nil value removes it.
func (o *orderedObject) set(name string, value json.RawMessage) {
	_, there := o.values[name]
	switch {
	case value == nil:
		delete(o.values, name)
	default:
		if !there {
			o.names = append(o.names, name)
		}
		o.values[name] = value
	}
}

func (o *orderedObject) encode() (json.RawMessage, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for _, name := range o.names {
		value, ok := o.values[name]
		if !ok {
			continue
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		key, err := encodeJSON(name)
		if err != nil {
			return nil, err
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// encodeJSON is json.Marshal without escapes for HTML.
func encodeJSON(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}

// setMembers writes members into the object at the top of a manifest, or into its dist,
// and lays the whole out with the indent that it had. What is not set keeps its place
// and text; a nil value removes.
func setMembers(manifest []byte, top, dist []member) ([]byte, error) {
	o, err := parseOrdered(manifest)
	if err != nil {
		return nil, err
	}
	apply := func(o *orderedObject, members []member) error {
		for _, m := range members {
			var raw json.RawMessage
			if m.value != nil {
				if raw, err = encodeJSON(m.value); err != nil {
					return err
				}
			}
			o.set(m.name, raw)
		}
		return nil
	}
	if err := apply(o, top); err != nil {
		return nil, err
	}
	if len(dist) > 0 {
		in := &orderedObject{values: map[string]json.RawMessage{}}
		if raw, ok := o.values["dist"]; ok && len(raw) > 0 && raw[0] == '{' {
			if in, err = parseOrdered(raw); err != nil {
				return nil, err
			}
		}
		if err := apply(in, dist); err != nil {
			return nil, err
		}
		raw, err := in.encode()
		if err != nil {
			return nil, err
		}
		o.set("dist", raw)
	}
	flat, err := o.encode()
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, flat, "", indentOf(manifest)); err != nil {
		return nil, err
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

// member is one member to set.
type member struct {
	name  string
	value any
}

// indentOf is the white space before the first member of an object that is laid out, and
// two spaces where there is none.
func indentOf(data []byte) string {
	_, rest, ok := strings.Cut(string(data[:min(len(data), 200)]), "\n")
	indent := rest[:len(rest)-len(strings.TrimLeft(rest, " \t"))]
	if !ok || indent == "" || len(indent) > 8 {
		return "  "
	}
	return indent
}
