package surface

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Decode decodes a JSON document into to, and refuses a member that to does not have. A name
// that differs in case from one of to is refused too, although encoding/json accepts it.
// Decode is for files that Hallmark writes.
func Decode(data []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return err
	}
	return CheckMembers(data, to)
}

// DecodeKnown is [Decode] of a document that others write: members that to does not have are
// ignored. One that differs from a member of to in case alone is refused: it would count
// here, and not in a program that compares names exactly.
func DecodeKnown(data []byte, to any) error {
	if err := json.Unmarshal(data, to); err != nil {
		return err
	}
	var read any
	if err := json.Unmarshal(data, &read); err != nil {
		return err
	}
	return checkNames(read, reflect.TypeOf(to), "json", "", true)
}

// CheckMembers returns an error if a JSON document has a member that to does not have in
// exactly that spelling. It decodes nothing into to.
func CheckMembers(data []byte, to any) error {
	var read any
	if err := json.Unmarshal(data, &read); err != nil {
		return err
	}
	return CheckNames(read, reflect.TypeOf(to), "json")
}

// CheckNames returns an error if a key in v, a decoded document, is not spelled as a tag of t
// spells it. The keys of a map, and what a type decodes itself, are not checked.
func CheckNames(v any, t reflect.Type, tag string) error { return checkNames(v, t, tag, "", false) }

// checkNames is CheckNames of what stands at a place in the document. If others is set, unknown
// keys are allowed, and only those that differ from one of t in case alone are refused.
func checkNames(v any, t reflect.Type, tag, at string, others bool) error {
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
			if err := checkNames(each, t.Elem(), tag, fmt.Sprintf("%s[%d]", at, i), others); err != nil {
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
			shown := strings.TrimPrefix(at+"."+Escape(key), ".")
			of, known := names[key]
			if names == nil {
				of, known = t.Elem(), true
			}
			if !known && others && !differsInCase(names, key) {
				continue
			}
			if !known {
				return fmt.Errorf("unknown key %s: case counts", shown)
			}
			if err := checkNames(v[key], of, tag, shown, others); err != nil {
				return err
			}
		}
	}
	return nil
}

// differsInCase reports whether a key is one of names in another case.
func differsInCase(names map[string]reflect.Type, key string) bool {
	for name := range names {
		if strings.EqualFold(name, key) {
			return true
		}
	}
	return false
}

var (
	jsonDecoder = reflect.TypeFor[json.Unmarshaler]()
	textDecoder = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// spelledNames are the keys of a struct, those of what is embedded in it included.
func spelledNames(t reflect.Type, tag string) map[string]reflect.Type {
	out := map[string]reflect.Type{}
	for f := range t.Fields() {
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
