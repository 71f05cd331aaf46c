package project

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/surface"
)

// decodeExact decodes JSON into to, and refuses a member that to does not have: one whose name
// differs in case from that of another too, which encoding/json takes for it.
func decodeExact(data []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return err
	}
	return exactJSON(data, to)
}

// exactJSON reports whether the members of a JSON document are spelled as to spells them.
func exactJSON(data []byte, to any) error {
	var read any
	if err := json.Unmarshal(data, &read); err != nil {
		return err
	}
	return exactNames(read, reflect.TypeOf(to), "json", "")
}

// exactNames reports whether the keys in v are spelled as the tags of t spell them. The keys of
// a map are anybody's, and what a type decodes itself is its own affair.
func exactNames(v any, t reflect.Type, tag, at string) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if own := reflect.PointerTo(t); own.Implements(jsonDecoder) || own.Implements(textDecoder) {
		return nil
	}
	switch v := v.(type) {
	case []any:
		if t.Kind() != reflect.Slice && t.Kind() != reflect.Array {
			return nil
		}
		for i, each := range v {
			if err := exactNames(each, t.Elem(), tag, fmt.Sprintf("%s[%d]", at, i)); err != nil {
				return err
			}
		}
	case map[string]any:
		var names map[string]reflect.Type
		if t.Kind() == reflect.Struct {
			names = spelledNames(t, tag)
		} else if t.Kind() != reflect.Map {
			return nil
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			shown := strings.TrimPrefix(at+"."+surface.Escape(key), ".")
			of, known := names[key]
			if names == nil {
				of, known = t.Elem(), true
			}
			if !known {
				return fmt.Errorf("unknown key %s: case counts", shown)
			}
			if err := exactNames(v[key], of, tag, shown); err != nil {
				return err
			}
		}
	}
	return nil
}

var (
	jsonDecoder = reflect.TypeFor[json.Unmarshaler]()
	textDecoder = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// spelledNames are the keys of a struct, those of what is embedded in it included.
func spelledNames(t reflect.Type, tag string) map[string]reflect.Type {
	out := map[string]reflect.Type{}
	for f := range fields(t) {
		name, _, _ := strings.Cut(f.Tag.Get(tag), ",")
		switch {
		case name == "-" || !f.IsExported() && !f.Anonymous:
		case name == "" && f.Anonymous:
			inner := f.Type
			if inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			maps.Copy(out, spelledNames(inner, tag))
		case name == "":
			out[f.Name] = f.Type
		default:
			out[name] = f.Type
		}
	}
	return out
}

func fields(t reflect.Type) func(yield func(reflect.StructField) bool) {
	return func(yield func(reflect.StructField) bool) {
		for i := range t.NumField() {
			if !yield(t.Field(i)) {
				return
			}
		}
	}
}
