package machine

import (
	"slices"
	"strings"
	"testing"
)

func TestParseVariable(t *testing.T) {
	for in, want := range map[string]Variable{
		"NPM_TOKEN=npm.example.com":     {"NPM_TOKEN", "npm.example.com"},
		"NPM_TOKEN=NPM.Example.com:443": {"NPM_TOKEN", "npm.example.com"},
		"_x9=npm.example.com:4873":      {"_x9", "npm.example.com:4873"},
		"A=127.0.0.1:80":                {"A", "127.0.0.1:80"},
		"A=[::1]:80":                    {"A", "[::1]:80"},
		"A=localhost":                   {"A", "localhost"},
		"A":                             {},
		"":                              {},
		"=host":                         {},
		"A=":                            {},
		"A=*":                           {},
		"A=*.example.com":               {},
		"A=https://host":                {},
		"A=host/path":                   {},
		"A=user@host":                   {},
		"A=host:x":                      {},
		"A=ho st":                       {},
		"A-B=host":                      {},
		"A=[::1":                        {},
		"A=[x]":                         {},
		"A=host=other":                  {},
		"A=" + strings.Repeat("a", 400): {},
		"A=\x1b[31mhost":                {},
	} {
		got, err := ParseVariable(in)
		if got != want || (err == nil) != (want != Variable{}) {
			t.Errorf("%q: %v, %v", in, got, err)
		}
	}
}

func TestVariables(t *testing.T) {
	v, err := ParseVariables(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{"B=b.example.com", "A=b.example.com", "A=a.example.com", "A=b.example.com"} {
		a, err := ParseVariable(s)
		if err != nil || v.Add(a) != nil {
			t.Fatal(s, err)
		}
	}
	data, err := v.Encode()
	if err != nil {
		t.Fatal(err)
	}
	read, err := ParseVariables(data)
	if err != nil || !slices.Equal(read.Agreed, []Variable{{"A", "a.example.com"}, {"A", "b.example.com"}, {"B", "b.example.com"}}) {
		t.Fatalf("%v, %v", read, err)
	}
	if !read.Has(Variable{"A", "b.example.com"}) || read.Has(Variable{"B", "a.example.com"}) || read.Has(Variable{"A", "b.example.com:8443"}) {
		t.Error("something else was agreed to")
	}
	if v.Add(Variable{"A", "https://x"}) == nil {
		t.Error("no host was added")
	}
	for _, bad := range []string{
		``, `{}`, `null`, `{"variables_version":1}`, `{"variables_version":2,"agreed":[]}`, `{"variables_version":1,"agreed":null}`,
		`{"variables_version":1,"agreed":[{"name":"A","host":"*"}]}`,
		`{"variables_version":1,"agreed":[{"name":"A","host":"a"},{"name":"A","host":"a"}]}`,
		`{"variables_version":1,"agreed":[{"name":"B","host":"a"},{"name":"A","host":"a"}]}`,
		`{"variables_version":1,"agreed":[],"agreed":[]}`, `{"variables_version":1,"agreed":[],"more":1}`,
	} {
		if _, err := ParseVariables([]byte(bad)); err == nil {
			t.Errorf("%s was read", bad)
		}
	}
}
