package userconfig

import (
	"encoding/base64"
	"net/url"
	"strings"
	"testing"
)

func TestAuthorization(t *testing.T) {
	password := base64.StdEncoding.EncodeToString([]byte("pä??"))
	settings := map[string]string{
		"//npm.example.com/:_authToken":          "root",
		"//npm.example.com/team/:_authToken":     "team",
		"//npm.example.com/team/deep:_authToken": "deep",
		"//port.example.com:8443/:_authToken":    "port",
		"//auth.example.com/:_auth":              "dTpw",
		"//user.example.com/:username":           "u",
		"//user.example.com/:_password":          password,
		"//url.example.com/:username":            "u",
		"//url.example.com/:_password": strings.TrimRight(
			strings.NewReplacer("+", "-", "/", "_").Replace(password), "="),
		"//half.example.com/:username":               "u",
		"//unset.example.com/:_authToken":            "${NPM_TOKEN}",
		"//both.example.com/:_auth":                  "dTpw",
		"//both.example.com/:_authToken":             "first",
		"//bad.example.com/:_authToken":              "se\ncret",
		"//space.example.com/:_authToken":            "se cret",
		"//badpassword.example.com/:username":        "u",
		"//badpassword.example.com/:_password":       "!!secret!!",
		"//npm.example.com/@acme%2fx/:_authToken":    "lower",
		"//npm.example.com/@acme%2Fnotes:_authToken": "package",
	}
	n := NPM{Setting: func(key string) string { return settings[key] }}
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte("u:pä??"))
	for u, want := range map[string]string{
		"https://npm.example.com":                     "Bearer root",
		"https://npm.example.com/":                    "Bearer root",
		"https://NPM.example.com:443/a":               "Bearer root",
		"https://npm.example.com/a/b/c.tgz?x=1":       "Bearer root",
		"https://npm.example.com/team":                "Bearer root",
		"https://npm.example.com/teams/a":             "Bearer root",
		"https://npm.example.com/team/":               "Bearer team",
		"https://npm.example.com/team/a":              "Bearer team",
		"https://npm.example.com/team/deep":           "Bearer deep",
		"https://npm.example.com/team/deep/a":         "Bearer deep",
		"https://npm.example.com/team/deeper":         "Bearer team",
		"https://npm.example.com/@acme%2Fnotes/1.0.0": "Bearer package",
		"https://npm.example.com/team/../a":           "",
		"https://npm.example.com/team/%2e%2E/a":       "",
		"https://npm.example.com/team/..%2Fa":         "",
		"https://npm.example.com/team/..%5Ca":         "",
		"https://npm.example.com/team/./a":            "",
		"https://npm.example.com/team/...":            "Bearer team",
		"https://npm.example.com.evil.example.com/":   "",
		"https://evil.example.com/npm.example.com/":   "",
		"https://sub.npm.example.com/":                "",
		"https://npm.example.com:8443/":               "",
		"https://port.example.com:8443/a":             "Bearer port",
		"https://port.example.com/a":                  "",
		"https://auth.example.com/a":                  "Basic dTpw",
		"https://user.example.com/a":                  basic,
		"https://url.example.com/a":                   basic,
		"https://half.example.com/a":                  "",
		"https://unset.example.com/a":                 "",
		"https://both.example.com/a":                  "Bearer first",
		"https://none.example.com/a":                  "",
	} {
		parsed, err := url.Parse(u)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := n.Authorization(parsed); got != want || err != nil {
			t.Errorf("%s: %q, not %q (%v)", u, got, want, err)
		}
	}
	for _, host := range []string{"bad.example.com", "space.example.com", "badpassword.example.com"} {
		got, err := n.Authorization(&url.URL{Scheme: "https", Host: host, Path: "/"})
		if err == nil || got != "" || strings.Contains(err.Error(), "cret") {
			t.Errorf("%q, %v", got, err)
		}
	}
}
