package hashfile

import (
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// form is the form of an argument: what a schema says of it, and what decoding takes for it.
type form struct {
	kind   reflect.Kind // String, Int, Bool, Slice or Struct
	fields []field      // of a Struct, in order
	item   *form        // of a Slice
	text   bool         // a Slice that the schema calls a string
	enum   []string     // of a String; nil is any
	open   bool         // the tool judges by itself what is missing, or is none of enum
}

// field is a member of an object.
type field struct {
	name, about      string
	required, hidden bool
	index            int // in the Go struct
	form             *form
}

// Arguments returns the form of a struct, whose fields are strings, integers, booleans, slices and structs of these, or
// pointers to them where it matters whether an argument was given. Their tags:
//
//	json:"NAME"              the name; with ",omitempty" it is optional
//	about:"TEXT"             what the schema says of it
//	enum:"A,B"               the values that it may have
//	open:"true"              the tool judges by itself what is missing, or is none of the values
//	hidden:"true"            it is accepted, and the schema does not name it
//	as:"string"              the schema calls a list a string: that is what models send, and a list is understood
func formOf(t reflect.Type) *form {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	f := &form{kind: t.Kind()}
	switch t.Kind() {
	case reflect.Slice:
		f.item = formOf(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			tag := t.Field(i).Tag
			name, options, _ := strings.Cut(tag.Get("json"), ",")
			member := field{name: name, about: tag.Get("about"), required: options != "omitempty",
				hidden: tag.Get("hidden") != "", index: i, form: formOf(t.Field(i).Type)}
			if values := tag.Get("enum"); values != "" {
				member.form.enum = strings.Split(values, ",")
			}
			member.form.open = tag.Get("open") != ""
			member.form.text = tag.Get("as") == "string"
			f.fields = append(f.fields, member)
		}
	case reflect.String, reflect.Int, reflect.Bool:
	default:
		panic("an argument of type " + t.String())
	}
	return f
}

// Schema returns the form as JSON Schema, without what is hidden.
func (f *form) schema() *jsonschema.Schema {
	switch f.kind {
	case reflect.Slice:
		if f.text {
			return &jsonschema.Schema{Type: "string"}
		}
		return &jsonschema.Schema{Type: "array", Items: f.item.schema()}
	case reflect.Int:
		return &jsonschema.Schema{Type: "integer"}
	case reflect.Bool:
		return &jsonschema.Schema{Type: "boolean"}
	case reflect.String:
		s := &jsonschema.Schema{Type: "string"}
		for _, value := range f.enum {
			s.Enum = append(s.Enum, value)
		}
		return s
	}
	s := &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{}}
	for _, member := range f.fields {
		if member.hidden {
			continue
		}
		property := member.form.schema()
		property.Description = member.about
		s.Properties[member.name] = property
		s.PropertyOrder = append(s.PropertyOrder, member.name)
		if member.required {
			s.Required = append(s.Required, member.name)
		}
	}
	return s
}

// names returns the names of an object's members, as a schema has them.
func (f *form) names() []string {
	var all []string
	for _, member := range f.fields {
		if !member.hidden {
			all = append(all, member.name)
		}
	}
	return all
}

// find returns the member of a name, hidden or not; nil if there is none.
func (f *form) find(name string) *field {
	i := slices.IndexFunc(f.fields, func(member field) bool { return member.name == name })
	if i < 0 {
		return nil
	}
	return &f.fields[i]
}
