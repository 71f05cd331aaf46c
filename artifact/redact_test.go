package artifact

import (
	"strings"
	"testing"
)

func TestWithoutUsers(t *testing.T) {
	for in, want := range map[string]string{
		"https://user:password@host.example.com/a":     "https://host.example.com/a",
		"https://token@host.example.com/a":             "https://host.example.com/a",
		"git+https://user:p@ss@host.example.com/a#tag": "git+https://host.example.com/a#tag",
		"//user:password@host.example.com/":            "//host.example.com/",
		"https://user:pa/ss@host.example.com/a":        "https://host.example.com/a",
		// a port, and a path
		"https://user:8/ss@host.example.com/a":                  "https://user:8/ss@host.example.com/a",
		"ssh://git@host.example.com/a.git":                      "ssh://git@host.example.com/a.git",
		"ssh://git:password@host.example.com/a.git":             "ssh://host.example.com/a.git",
		"https://host.example.com/@scope/name":                  "https://host.example.com/@scope/name",
		"https://host.example.com:4873/@scope/name":             "https://host.example.com:4873/@scope/name",
		"git@host.example.com:a/b.git":                          "git@host.example.com:a/b.git",
		"npm:@scope/name@1.2.3":                                 "npm:@scope/name@1.2.3",
		"https://a:b@h.example.com/ https://c:d@i.example.com/": "https://h.example.com/ https://i.example.com/",
		"HTTP://u:p@h.example.com":                              "HTTP://h.example.com",
		"bob:s3cret@host.example.com/x:1":                       "host.example.com/x:1",
		"not an image: \"bob:s3cret@host.example.com/x:1\"":     "not an image: \"host.example.com/x:1\"",
		"pypi:bob:s3cret@host.example.com/x: no":                "pypi:host.example.com/x: no",
		"[bob:s3cret@localhost:5000/x]":                         "[localhost:5000/x]",
		"bob:s3cret@127.0.0.1:5000/x":                           "127.0.0.1:5000/x",
		"npm:left@1.0.0-rc.beta":                                "npm:left@1.0.0-rc.beta",
		"redis:7@sha256:00":                                     "redis:7@sha256:00",
		"host.example.com/redis:7@sha256:00":                    "host.example.com/redis:7@sha256:00",
		"left@npm:right@1.0.0":                                  "left@npm:right@1.0.0",
		"https://u:%40@h.example.com/%":                         "https://h.example.com/%",
	} {
		if got := RedactURLs(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

// No text around a URL, and no character that a password may hold, brings the password out.
func FuzzWithoutUsers(f *testing.F) {
	f.Add("a ", "user", "s3cret", "host.example.com/x")
	f.Fuzz(func(t *testing.T, before, user, password, rest string) {
		const odd = "/?#\"'<>\\@: \t\r\n\v\f"
		if password == "" || strings.ContainsAny(user+password, odd) || strings.ContainsAny(before, "/:@") {
			t.Skip()
		}
		password = "s3cret" + password
		if strings.Contains(before+user+rest, password) {
			t.Skip()
		}
		if got := RedactURLs(before + " https://" + user + ":" + password + "@" + rest); strings.Contains(got,
			password) {
			t.Errorf("%q", got)
		}
	})
}
