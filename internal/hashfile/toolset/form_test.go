package toolset

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

// sample has an argument of every form.
type sample struct {
	Path   string   `json:"path" about:"where"`
	Mode   string   `json:"mode,omitempty" enum:"slow,fast"`
	Count  int      `json:"count,omitempty"`
	Dry    bool     `json:"dry,omitempty"`
	Names  []string `json:"names,omitempty"`
	Parts  []part   `json:"parts,omitempty"`
	Secret string   `json:"secret,omitempty" hidden:"true"`
}

type part struct {
	Op      string  `json:"op" enum:"put,cut" open:"true"`
	Content *string `json:"content,omitempty"`
}

// FromText sets the part from "OP CONTENT".
func (p *part) FromText(text string) error {
	op, content, ok := strings.Cut(text, " ")
	if !ok {
		return errors.New("it is no part")
	}
	*p = part{Op: op, Content: &content}
	return nil
}

func formOf[T any]() *Form { return Arguments(reflect.TypeFor[T]()) }

// decodeAs decodes arguments of at most 10,000 bytes.
func decodeAs[T any](arguments string) (in T, err error) {
	err = formOf[T]().decode(json.RawMessage(arguments), reflect.ValueOf(&in).Elem(), 10_000)
	return in, err
}

func TestSchema(t *testing.T) {
	const want = `{"type":"object","properties":{"path":{"type":"string","description":"where"},` +
		`"mode":{"type":"string","enum":["slow","fast"]},"count":{"type":"integer"},"dry":{"type":"boolean"},` +
		`"names":{"type":"array","items":{"type":"string"}},"parts":{"type":"array","items":{"type":"object","properties":{` +
		`"op":{"type":"string","enum":["put","cut"]},"content":{"type":"string"}},"required":["op"]}}},"required":["path"]}`
	got, err := json.Marshal(formOf[*sample]().Schema())
	if err != nil {
		t.Fatal(err)
	}
	var a, b any
	if json.Unmarshal(got, &a) != nil || json.Unmarshal([]byte(want), &b) != nil || !reflect.DeepEqual(a, b) {
		t.Errorf("%s, want %s", got, want)
	}
	defer func() {
		if recover() == nil {
			t.Error("a form of a map is made")
		}
	}()
	formOf[map[string]string]()
}

// makeStrict changes a schema as the strict mode of OpenAI wants it: nothing else is taken, and all is required, so that
// what was optional may be null.
func makeStrict(s *jsonschema.Schema) {
	if s.Items != nil {
		makeStrict(s.Items)
	}
	if s.Type != "object" {
		return
	}
	required := map[string]bool{}
	for _, name := range s.Required {
		required[name] = true
	}
	s.Required = nil
	for name, property := range s.Properties {
		makeStrict(property)
		if s.Required = append(s.Required, name); !required[name] {
			property.Types, property.Type = []string{property.Type, "null"}, ""
			if property.Enum != nil {
				property.Enum = append(property.Enum, nil)
			}
		}
	}
	s.AdditionalProperties = &jsonschema.Schema{Not: &jsonschema.Schema{}}
}

// TestStrictSchema: the schema is still one after the change for OpenAI, takes a call with null for what is left out,
// and that call means the same as one without.
func TestStrictSchema(t *testing.T) {
	s := formOf[sample]().Schema()
	makeStrict(s)
	strict, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	const call = `{"path": "p", "mode": null, "count": null, "dry": null, "names": null,
		"parts": [{"op": "cut", "content": null}]}`
	var value any
	if err := json.Unmarshal([]byte(call), &value); err != nil {
		t.Fatal(err)
	}
	if err := strict.Validate(value); err != nil {
		t.Error(err)
	}
	if err := strict.Validate(map[string]any{"path": "p"}); err == nil {
		t.Error("the strict schema takes a call without all arguments")
	}
	given, err := decodeAs[sample](call)
	if err != nil {
		t.Fatal(err)
	}
	left, err := decodeAs[sample](`{"path": "p", "parts": [{"op": "cut"}]}`)
	if err != nil || !reflect.DeepEqual(given, left) {
		t.Errorf("%+v, %+v, %v", given, left, err)
	}
}
