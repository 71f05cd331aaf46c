package toolset

import (
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// Form is the form of an argument: what a schema says of it, and what decoding takes for it.
type Form struct {
	kind   reflect.Kind // String, Int, Bool, Slice or Struct
	fields []field      // of a Struct, in order
	item   *Form        // of a Slice
	enum   []string     // of a String; nil is any
	open   bool         // the tool judges by itself what is missing, or is none of enum
}

// field is a member of an object.
type field struct {
	name, about      string
	required, hidden bool
	index            int // in the Go struct
	form             *Form
}

// Arguments returns the form of a struct, whose fields are strings, integers, booleans, slices and structs of these, or
// pointers to them where it matters whether an argument was given. Their tags:
//
//	json:"NAME"              the name; with ",omitempty" it is optional
//	about:"TEXT"             what the schema says of it
//	enum:"A,B"               the values that it may have
//	open:"true"              the tool judges by itself what is missing, or is none of the values
//	hidden:"true"            it is accepted, and the schema does not name it
func Arguments(t reflect.Type) *Form {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	f := &Form{kind: t.Kind()}
	switch t.Kind() {
	case reflect.Slice:
		f.item = Arguments(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			tag := t.Field(i).Tag
			name, options, _ := strings.Cut(tag.Get("json"), ",")
			member := field{name: name, about: tag.Get("about"), required: options != "omitempty",
				hidden: tag.Get("hidden") != "", index: i, form: Arguments(t.Field(i).Type)}
			if values := tag.Get("enum"); values != "" {
				member.form.enum = strings.Split(values, ",")
			}
			member.form.open = tag.Get("open") != ""
			f.fields = append(f.fields, member)
		}
	case reflect.String, reflect.Int, reflect.Bool:
	default:
		panic("an argument of type " + t.String())
	}
	return f
}

// Schema returns the form as JSON Schema, without what is hidden.
func (f *Form) Schema() *jsonschema.Schema {
	switch f.kind {
	case reflect.Slice:
		return &jsonschema.Schema{Type: "array", Items: f.item.Schema()}
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
		property := member.form.Schema()
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
func (f *Form) names() []string {
	var all []string
	for _, member := range f.fields {
		if !member.hidden {
			all = append(all, member.name)
		}
	}
	return all
}

// find returns the member of a name, hidden or not; nil if there is none.
func (f *Form) find(name string) *field {
	i := slices.IndexFunc(f.fields, func(member field) bool { return member.name == name })
	if i < 0 {
		return nil
	}
	return &f.fields[i]
}
