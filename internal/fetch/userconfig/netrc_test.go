package userconfig

import (
	"maps"
	"strings"
	"testing"
)

func TestParseNetrc(t *testing.T) {
	for text, want := range map[string]map[string]login{
		"":                                     {},
		"machine A.example login u password p": {"a.example": {"u", "p"}},
		"machine a\n  password p\n\tlogin u\n# machine b login c password d\nmachine c login v": {"a": {"u", "p"},
			"c": {"v", ""}},
		"machine a login u password #p":                                             {"a": {"u", "#p"}},
		"machine a user u account x password p":                                     {"a": {"u", "p"}},
		`machine a login "u v" password "p\"\\"`:                                    {"a": {"u v", `p"\`}},
		"machine a login u password p machine a login v password q":                 {"a": {"u", "p"}},
		"default login u password p":                                                {},
		"machine a login u password p default login v password q":                   {"a": {"u", "p"}},
		"macdef init\nmachine a login u password p\n\nmachine b login v password q": {"b": {"v", "q"}},
		"machine a login u password p macdef x\nmachine b\n":                        {"a": {"u", "p"}},
		"login u password p":                                                        {},
		"machine":                                                                   {},
		"machine a":                                                                 {},
		"machine a login":                                                           {},
		"machine login password x":                                                  {"login": {"", "x"}},
	} {
		if got := parseNetrc(text); !maps.Equal(got, want) {
			t.Errorf("%q: %v, not %v", text, got, want)
		}
	}
}

func FuzzNetrc(f *testing.F) {
	f.Add("machine a login u password \"p\\\"\ndefault login x password y\nmacdef z\n\n")
	f.Fuzz(func(t *testing.T, text string) {
		for machine, l := range parseNetrc(text) {
			if machine == "" || l == (login{}) {
				t.Errorf("%q: %v", machine, l)
			}
		}
		// What follows "default" is nobody's.
		if l, ok := parseNetrc("default login DEFAULT\n" + strings.ReplaceAll(text, "machine", ""))[""]; ok {
			t.Errorf("%v", l)
		}
	})
}
