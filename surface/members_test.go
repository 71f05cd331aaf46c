package surface

import (
	"encoding"
	"reflect"
	"testing"
)

// textual decodes itself from text.
type textual struct{ Any string }

func (t *textual) UnmarshalText(text []byte) error { t.Any = string(text); return nil }

var _ encoding.TextUnmarshaler = (*textual)(nil)

// TestDecode: a member has one spelling, at every depth; one of which nothing is known is refused
// in a file of ours, and left out of what others write.
func TestDecode(t *testing.T) {
	type inner struct {
		Name string   `json:"name"`
		Sum  *textual `json:"sum"`
	}
	type outer struct {
		inner
		All map[string][]inner `json:"all"`
		Any any                `json:"any"`
		Low string             // without a tag, as Go calls it
	}
	for text, want := range map[string]struct{ ours, others bool }{
		`{"name": "", "all": {"Name": [{"name": ""}]}, "any": {"Name": 1}}`: {true, true},
		`{"sum": "x", "Low": ""}`:                    {true, true},
		`{"Name": ""}`:                               {},
		`{"all": {"x": [{"NAME": ""}]}}`:             {},
		`{"ALL": null}`:                              {},
		`{"name": "", "name2": ""}`:                  {false, true},
		`{"all": {"x": [{"more": 1, "name": "y"}]}}`: {false, true},
		`{"\u212all": 1}`:                            {false, true}, // a Kelvin sign is no k of ours
		`{"low": ""}`:                                {},
		`{"name": ""} {}`:                            {},
		`[]`:                                         {},
	} {
		if err := Decode([]byte(text), new(outer)); (err == nil) != want.ours {
			t.Errorf("ours %s: %v", text, err)
		}
		if err := DecodeKnown([]byte(text), new(outer)); (err == nil) != want.others {
			t.Errorf("others' %s: %v", text, err)
		}
	}
	if names := spelledNames(reflect.TypeFor[outer](), "json"); len(names) != 5 {
		t.Errorf("%v", names)
	}
}
