package userconfig

import (
	"maps"
	"net/url"
	"strings"
	"testing"
)

func environment(m map[string]string) func(string) string {
	return func(key string) string { return m[key] }
}

func TestParseNPMRC(t *testing.T) {
	env := environment(map[string]string{"TOKEN": "t0k", "HOST": "npm.example.com", "A-B": "ab", "EMPTY": ""})
	for _, tt := range []struct {
		name, text string
		want       map[string]string
	}{
		{"empty", "", nil},
		{"plain", "registry=https://npm.example.com/\n", map[string]string{"registry": "https://npm.example.com/"}},
		{"space", "  registry \t=  https://npm.example.com/  \r\nx = 1\r",
			map[string]string{"registry": "https://npm.example.com/", "x": "1"}},
		{"byte order mark", "\ufeffa=1", map[string]string{"a": "1"}},
		{"comments", "# a=1\n;b=2\n  # c=3\nd=4 # five\ne=5;six\n", map[string]string{"d": "4", "e": "5"}},
		{"escaped", `a=1\#2\;3\\4\n`, map[string]string{"a": `1#2;3\4\n`}},
		{"ends in backslash", `a=1\`, map[string]string{"a": `1\`}},
		{"quoted", "a=\"x # y\"\nb='x ; y'\nc=\"x\\ny\"\nd=\"\ne='\n",
			map[string]string{"a": "x # y", "b": "x ; y", "c": "x\ny", "d": `"`, "e": ""}},
		{"value with =", "//npm.example.com/:_auth=dTpw=\n", map[string]string{"//npm.example.com/:_auth": "dTpw="}},
		{"no value", "a\nb=\n", map[string]string{"a": "true", "b": ""}},
		{"no key", "=a\n", nil},
		{"last wins", "a=1\na=2\n", map[string]string{"a": "2"}},
		{"list", "ca[]=1\n", map[string]string{"ca": "1"}},
		{"section", "a=1\n[x]\nb=2\n", map[string]string{"a": "1"}},
		{"scope", "@acme:registry=https://npm.example.com",
			map[string]string{"@acme:registry": "https://npm.example.com"}},
		{"variable", "//${HOST}/:_authToken=${TOKEN}", map[string]string{"//npm.example.com/:_authToken": "t0k"}},
		{"variable within", "a=x${TOKEN}y${TOKEN}z", map[string]string{"a": "xt0kyt0kz"}},
		{"unset", "a=${NO}\nb=${NO?}\nc=${NO-d}\nd=${NO:-d}\ne=${TOKEN-d}\nf=${TOKEN?}\ng=${NO-}",
			map[string]string{"a": "${NO}", "b": "", "c": "d", "d": "d", "e": "t0k", "f": "t0k", "g": ""}},
		{"dash in name", "a=${A-B}", map[string]string{"a": "ab"}},
		{"no variable", "a=$TOKEN\nb=${}\nc=${TO\nd=$\ne=${?}\nf=${a${TOKEN}}",
			map[string]string{"a": "$TOKEN", "b": "${}", "c": "${TO", "d": "$", "e": "${?}", "f": "${at0k}"}},
		{"escaped variable", `a=\${TOKEN}`, map[string]string{"a": "${TOKEN}"}},
		{"escaped twice", `a="\\\\${TOKEN}"`, map[string]string{"a": `\t0k`}},
		{"no second expansion", "a=${NEST}", map[string]string{"a": "${NEST}"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := parseNPMRC(tt.text, env); !maps.Equal(got, tt.want) {
				t.Errorf("%q, not %q", got, tt.want)
			}
		})
	}
}

func FuzzParseNPMRC(f *testing.F) {
	f.Add("registry=https://npm.example.com/\n//npm.example.com/:_authToken=${TOKEN}\n")
	f.Add("a='x\nb=\"y\\\n[s]\n${A?}=${B-c}\\${D}")
	f.Fuzz(func(t *testing.T, text string) {
		env := environment(map[string]string{"A": "1", "TOKEN": "${A}"})
		got := parseNPMRC(text, env)
		for key, value := range got {
			if value != strings.TrimSpace(value) {
				t.Errorf("%q = %q", key, value)
			}
			if len(value) > 4*len(text)+16 {
				t.Errorf("%q grew", key)
			}
			npm := NPM{Setting: func(string) string { return value }}
			u := &url.URL{Scheme: "https", Host: "npm.example.com", Path: "/a/b"}
			if auth, err := npm.Authorization(u); err == nil && strings.ContainsAny(auth, "\r\n\x00") {
				t.Errorf("header %q", auth)
			}
		}
	})
}

// TestNPMQuote: npm reads exactly the value that was quoted.
func TestNPMQuote(t *testing.T) {
	env := environment(map[string]string{"X": "expanded"})
	for _, value := range []string{"plain", "${X}", `\${X}`, `\\${X}`, `a"b`, `"quoted"`, "a;b#c", `a\b`, " spaced ",
		"line\nbreak=1", "${X-d}", "${X?}", "ünï"} {
		got := parseNPMRC("key="+quoteNPM(value)+"\n", env)
		if len(got) != 1 || got["key"] != strings.TrimSpace(value) {
			t.Errorf("%q: %q", value, got)
		}
	}
}
