package hashfile

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
	"github.com/hallmark-mcp/hallmark/surface"
)

// texter is an object that may also be written as one text.
type texter interface {
	// fromText sets the object from the text.
	fromText(text string) error
}

// decode sets in, a struct of the form, from the arguments of a call. Arguments that programs read in different ways
// are refused: names in other letter case, two members with one name, bytes that are not UTF-8.
func (f *form) decode(arguments json.RawMessage, in reflect.Value, limit int) error {
	if len(arguments) == 0 || string(bytes.TrimSpace(arguments)) == "null" { // no arguments, as some clients write it
		arguments = []byte("{}")
	}
	if err := surface.CheckJSON(arguments, surface.Limits{Size: limit}); err != nil {
		return fmt.Errorf("its arguments cannot be read: %s", place.Show(err.Error()))
	}
	value, err := readJSON(arguments)
	if err != nil {
		return errors.New("its arguments are no JSON")
	}
	return f.set(in, value, "")
}

// readJSON reads one JSON value, with numbers as they are written.
func readJSON(text []byte) (value any, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&value); err != nil {
		return nil, err
	}
	if d.More() {
		return nil, errors.New("more than one value")
	}
	return value, nil
}

// set sets a Go value from a JSON value. Where names the argument, for errors; "" is all arguments.
func (f *form) set(to reflect.Value, value any, where string) error {
	if to.Kind() == reflect.Pointer {
		to.Set(reflect.New(to.Type().Elem()))
		to = to.Elem()
	}
	switch f.kind {
	case reflect.Struct:
		return f.setObject(to, value, where)
	case reflect.Slice:
		return f.setArray(to, value, where)
	case reflect.String:
		text, ok := value.(string)
		if n, number := value.(json.Number); number && f.open { // of which the tool says what it lacks
			text, ok = n.String(), true
		}
		if !ok {
			return expect(where, "a string", value)
		}
		if f.enum != nil && !f.open && !slices.Contains(f.enum, text) {
			return fmt.Errorf("%s is %s; it is one of %s", where, quote(text), strings.Join(f.enum, ", "))
		}
		to.SetString(text)
	case reflect.Int:
		n, ok := integerOf(value)
		if !ok {
			return expect(where, wantedNumber(value), value)
		}
		to.SetInt(n)
	case reflect.Bool:
		b, ok := boolOf(value)
		if !ok {
			return expect(where, "true or false", value)
		}
		to.SetBool(b)
	}
	return nil
}

// setObject sets a struct. A text stands for the object if it is the object as JSON, or if its type takes texts.
func (f *form) setObject(to reflect.Value, value any, where string) error {
	if text, ok := value.(string); ok {
		if inner, err := readJSON([]byte(text)); err == nil && isObject(inner) {
			if surface.CheckJSON([]byte(text), surface.Limits{}) != nil {
				return fmt.Errorf("%s is a text with JSON that is read in different ways", where)
			}
			value = inner
		} else if err != nil && strings.HasPrefix(strings.TrimSpace(text), "{") {
			return fmt.Errorf("%s is a text that begins like JSON and is none; give an object, not a text", where)
		} else if texter, ok := to.Addr().Interface().(texter); ok {
			if err := texter.fromText(text); err != nil {
				return fmt.Errorf("%s: %w", where, err)
			}
			return nil
		}
	}
	members, ok := value.(map[string]any)
	if !ok {
		return expect(where, "an object", value)
	}
	for name := range members {
		if len(f.fields) == 0 { // some clients must send something
			return nil
		}
		if f.find(name) == nil {
			return f.refuseName(name, where)
		}
	}
	for _, member := range f.fields {
		given, ok := members[member.name]
		if !ok || given == nil || given == "" && member.form.enum != nil && !member.required {
			if member.required && !member.form.open {
				return fmt.Errorf("%s is missing%s", below(where, member.name), f.describe())
			}
			continue
		}
		if err := member.form.set(to.Field(member.index), given, below(where, member.name)); err != nil {
			return err
		}
	}
	return nil
}

// setArray sets a slice. One value stands for an array of it, and a text for the array that it is as JSON.
func (f *form) setArray(to reflect.Value, value any, where string) error {
	if text, ok := value.(string); ok && strings.HasPrefix(strings.TrimSpace(text), "[") {
		if f.item.kind == reflect.Struct && !json.Valid([]byte(text)) {
			return fmt.Errorf("%s is a text that begins like JSON and is none; give an array, not a text", where)
		}
		if inner, err := readJSON([]byte(text)); err == nil && surface.CheckJSON([]byte(text),
			surface.Limits{}) == nil {
			value = inner
		}
	}
	values, ok := value.([]any)
	if !ok {
		if _, text := value.(string); !text && !(f.item.kind == reflect.Struct && isObject(value)) {
			return expect(where, "an array", value)
		}
		values = []any{value}
	}
	to.Set(reflect.MakeSlice(to.Type(), len(values), len(values)))
	for i, v := range values {
		at := where
		if ok {
			at = where + "[" + strconv.Itoa(i) + "]"
		}
		if err := f.item.set(to.Index(i), v, at); err != nil {
			return err
		}
	}
	return nil
}

// integerOf returns a whole number, also if it is written as 3.0 or "3".
func integerOf(value any) (int64, bool) {
	text, ok := value.(string)
	if n, number := value.(json.Number); number {
		text, ok = n.String(), true
	}
	text = strings.TrimSpace(text)
	if !ok || len(text) > 20 || strings.ContainsAny(text, "/_xXbBoO") {
		return 0, false
	}
	r, ok := new(big.Rat).SetString(text)
	if !ok || !r.IsInt() || !r.Num().IsInt64() {
		return 0, false
	}
	n := r.Num().Int64()
	return n, int64(int(n)) == n
}

// wantedNumber says what to give in place of a value that is no whole number, or too large a one.
func wantedNumber(value any) string {
	if n, ok := value.(json.Number); ok && strings.Trim(n.String(), "-0123456789") == "" {
		return "a smaller number"
	}
	return "a whole number"
}

// boolOf returns true or false, also if it is written as a string.
func boolOf(value any) (bool, bool) {
	switch value {
	case true, "true", "True":
		return true, true
	case false, "false", "False":
		return false, true
	}
	return false, false
}

func isObject(value any) bool {
	_, ok := value.(map[string]any)
	return ok
}

// expect says that an argument has another form than it should have.
func expect(where, want string, value any) error {
	where = cmp.Or(where, "the value with the arguments")
	got := "an object"
	switch v := value.(type) {
	case nil:
		got = "null"
	case bool:
		got = strconv.FormatBool(v)
	case json.Number:
		got = "the number " + shorten(v.String())
	case string:
		got = "the text " + quote(v)
	case []any:
		if got = "an array"; want == "a string" && strings.HasSuffix(where, "content") {
			want += ", with line feeds between lines"
		}
	}
	return fmt.Errorf("%s is %s; give %s", where, got, want)
}

// refuseName says that there is no argument of a name, and which there are.
func (f *form) refuseName(name, where string) error {
	return fmt.Errorf("there is no argument %s%s", quote(below(where, name)), f.describe())
}

// describe names the members of an object, for an error.
func (f *form) describe() string {
	names := f.names()
	if len(names) == 0 {
		return "; it takes none"
	}
	return "; it takes " + strings.Join(names, ", ")
}

func below(where, name string) string {
	if where == "" {
		return name
	}
	return where + "." + name
}

// quote shows the beginning of a text from outside.
func quote(text string) string {
	return strconv.QuoteToASCII(shorten(text))
}

func shorten(text string) string {
	const most = 60
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "..."
	}
	return text
}
