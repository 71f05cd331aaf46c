package project

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/pelletier/go-toml/v2"

	"github.com/hallmark-mcp/hallmark/internal/spelling"
	"github.com/hallmark-mcp/hallmark/internal/tomltext"
)

// otherNames are keys that clients' files have for those of hallmark.toml, with what to write here.
var otherNames = map[string]string{
	"args": "arguments", "cmd": "command", "env": "variables, which holds the names of variables and no values",
}

// maxSuggested is the longest unknown key for which another one is suggested, in bytes.
const maxSuggested = 64

// explainUnknown is [tomltext.Explain] that says, of an unknown key, which one may be meant.
func explainUnknown(err error) error {
	var strict *toml.StrictMissingError
	if !errors.As(err, &strict) {
		return tomltext.Explain(err)
	}
	var all []error
	for _, e := range strict.Errors {
		one := tomltext.Explain(&toml.StrictMissingError{Errors: []toml.DecodeError{e}})
		if meant := suggestKey(reflect.TypeFor[configTOML](), e.Key()); meant != "" {
			one = fmt.Errorf("%w; write %s", one, meant)
		}
		all = append(all, one)
	}
	return errors.Join(all...)
}

// suggestKey returns the key that stands at the place of the first unknown one of a path in a value of
// type t, and that is like it; "" if there is none.
func suggestKey(t reflect.Type, path []string) string {
	for _, name := range path {
		if len(name) > maxSuggested {
			return ""
		}
		for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
			t = t.Elem()
		}
		switch t.Kind() {
		case reflect.Map:
			t = t.Elem()
			continue
		case reflect.Struct:
		default:
			return ""
		}
		var next reflect.Type
		best, distance := "", len(name)/3+2
		for i := range t.NumField() {
			key := t.Field(i).Tag.Get("toml")
			if key == name {
				next = t.Field(i).Type
			} else if d := spelling.Distance(key, name); d < distance {
				best, distance = key, d
			}
		}
		if next == nil {
			if meant, ok := otherNames[name]; ok {
				return meant
			}
			return best
		}
		t = next
	}
	return ""
}
