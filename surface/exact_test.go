package surface

import (
	"bytes"
	"strings"
	"testing"

	"github.com/gowebpki/jcs"
)

// plainJSON are documents whose form is that of RFC 8785, or that are refused because it has
// none.
var plainJSON = []string{
	`{}`, `[]`, `{"b":1,"a":[true,false,null,"x"]}`, ` { "a" : 1.0 , "b" : -0 , "c" : 1e21 , "d":1E-7, "e":0.1e1 } `,
	`{"` + "\U0001f600" + `":1,"` + "\ue000" + `":2,"` + "\u20ac" + `":3,"\r":4,"1":5}`,
	`{"a":"\u003c\u2028\/\b\f\n\r\t\"\\\u0001\ud83d\ude00é"}`,
	`{"a":9007199254740992}`, `{"a":-9007199254740992}`, `{"a":9007199254740991,"b":0.30000000000000004}`,
	`{"a":1e-400}`,
	`{"$hallmark.int":"9007199254740993"}`, `{"self":1,"SELF":2}`, `[{"self":1}]`,
	`{"a":0.` + strings.Repeat("1", 2000) + `}`,
	// refused
	`{"a":9007199254740993}`, `{"a":9007199254740992.0}`, `{"a":9.007199254740993e15}`, `{"a":1e400}`,
	`{"a":1,"\u0061":2}`, `{"a":"\ud800"}`, "{\"a\":\"\xff\"}",
	`{"a":01}`, `{"a":1}x`, ``, `{`, `{"a":+1}`, `{"a":.5}`, `{"a":"` + "\n" + `"}`,
	strings.Repeat("[", 200) + strings.Repeat("]", 200),
}

// sameCanonical checks the form of data against the library that RFC 8785 comes with,
// behind the checks of what that changes without a word.
func sameCanonical(t *testing.T, data []byte) {
	t.Helper()
	got, err := Canonical(data, Limits{})
	want, bad := []byte(nil), CheckNumbers(data)
	if e := CheckJSON(data, Limits{}); e != nil {
		bad = e
	}
	if bad != nil {
		if err == nil {
			t.Errorf("%q: %s, and %v", data, got, bad)
		}
		return
	}
	if want, bad = jcs.Transform(data); bad != nil { // of texts and numbers alone it gives none
		want, bad = jcs.Transform([]byte("[" + string(data) + "]"))
		want = bytes.TrimSuffix(bytes.TrimPrefix(want, []byte("[")), []byte("]"))
	}
	if err != nil || bad != nil || !bytes.Equal(got, want) {
		t.Errorf("%q: %s, %v; want %s, %v", data, got, err, want, bad)
	}
	if again, err := Canonical(got, Limits{}); err != nil || !bytes.Equal(again, got) {
		t.Errorf("%q again: %s, %v", got, again, err)
	}
}

func TestCanonicalJSON(t *testing.T) {
	for _, text := range plainJSON {
		sameCanonical(t, []byte(text))
	}
	got, err := Canonical([]byte(`{"z":{"self":1},"self":{"x":[1]},"SELF":2,"a":3}`), Limits{}, "self", "a")
	if err != nil || string(got) != `{"SELF":2,"z":{"self":1}}` {
		t.Errorf("%s, %v", got, err)
	}
	for _, l := range []Limits{{Size: 10}, {Depth: 1}, {Values: 2}} {
		if got, err := Canonical([]byte(`{"a":[1,2]}`), l); err == nil {
			t.Errorf("%+v: %s", l, got)
		}
	}
}

func FuzzCanonical(f *testing.F) {
	for _, text := range plainJSON {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) { sameCanonical(t, data) })
}
