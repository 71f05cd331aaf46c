package hashfile

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
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

// fromText sets the part from "OP CONTENT".
func (p *part) fromText(text string) error {
	op, content, ok := strings.Cut(text, " ")
	if !ok {
		return errors.New("it is no part")
	}
	*p = part{Op: op, Content: &content}
	return nil
}

func formFor[T any]() *form { return formOf(reflect.TypeFor[T]()) }

// decodeAs decodes arguments of at most 10,000 bytes.
func decodeAs[T any](arguments string) (in T, err error) {
	err = formFor[T]().decode(json.RawMessage(arguments), reflect.ValueOf(&in).Elem(), 10_000)
	return in, err
}

func TestSchema(t *testing.T) {
	const want = `{"type":"object","properties":{"path":{"type":"string","description":"where"},` +
		`"mode":{"type":"string","enum":["slow","fast"]},"count":{"type":"integer"},"dry":{"type":"boolean"},` +
		`"names":{"type":"array","items":{"type":"string"}},"parts":{"type":"array","items":{"type":"object","properties":{` +
		`"op":{"type":"string","enum":["put","cut"]},"content":{"type":"string"}},"required":["op"]}}},"required":["path"]}`
	got, err := json.Marshal(formFor[*sample]().schema())
	must(t, err)
	var a, b any
	if json.Unmarshal(got, &a) != nil || json.Unmarshal([]byte(want), &b) != nil || !reflect.DeepEqual(a, b) {
		t.Errorf("%s, want %s", got, want)
	}
	defer func() {
		if recover() == nil {
			t.Error("a form of a map is made")
		}
	}()
	formFor[map[string]string]()
}
