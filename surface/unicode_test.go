package surface

import (
	"encoding/json"
	"testing"
)

func TestReadUnit(t *testing.T) {
	for s, want := range map[string]rune{"0041": 'A', "00e9x": 'é', "D83d": 0xd83d, "FFFF": 0xffff} {
		unit, ok := ReadUnit(s, 0)
		after, okAfter := ReadUnit([]byte(`\u`+s), 2)
		if unit != want || after != want || !ok || !okAfter {
			t.Errorf("%s: %x, %x", s, unit, after)
		}
	}
	for _, s := range []string{"", "004", "00g1", "+041", " 041", "00é"} {
		if unit, ok := ReadUnit(s, 0); ok {
			t.Errorf("%q: %x", s, unit)
		}
	}
}

func TestEscapeJSON(t *testing.T) {
	document := []byte(`{"a":"é\n𝄞\"\u0041"}`)
	got := EscapeJSON(document, func(r rune) bool { return r > '~' })
	if want := `{"a":"\u00e9\n\ud834\udd1e\"\u0041"}`; string(got) != want {
		t.Errorf("%s, want %s", got, want)
	}
	var before, after any
	if json.Unmarshal(document, &before) != nil || json.Unmarshal(got, &after) != nil ||
		before.(map[string]any)["a"] != after.(map[string]any)["a"] {
		t.Errorf("%v became %v", before, after)
	}
	if got := EscapeJSON(document, func(rune) bool { return false }); string(got) != string(document) {
		t.Errorf("%s", got)
	}
}
