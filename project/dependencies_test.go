package project

import (
	"strings"
	"testing"
)

// The lock of several packages is read if each that is required is there at its version; an optional one may be
// missing, and what is stored names only those that are there.
func TestParseDependencies(t *testing.T) {
	const head = `{"name":"x","lockfileVersion":3,"requires":true,"packages":{"":{"dependencies":{"a":"1.0.0","@s/b":"2.0.0"},` +
		`"optionalDependencies":{"c":"3.0.0","d":"4.0.0"}},`
	const rest = `"node_modules/@s/b":{"version":"2.0.0"},"node_modules/c":{"version":"3.0.0","optional":true},` +
		`"node_modules/@s/b/node_modules/a":{"version":"0.9.0"}}}`
	c, err := ParseDependencies([]byte(head + `"node_modules/a":{"version":"1.0.0"},` + rest))
	if err != nil {
		t.Fatal(err)
	}
	if !c.Root.IsZero() || len(c.Packages) != 4 {
		t.Errorf("root %s, %d packages", c.Root, len(c.Packages))
	}
	lock, err := c.Encode()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"dependencies":{"@s/b":"2.0.0","a":"1.0.0"}`, `"optionalDependencies":{"c":"3.0.0"}`} {
		if text := strings.Join(strings.Fields(string(lock)), ""); !strings.Contains(text, want) {
			t.Errorf("what is stored lacks %s:\n%s", want, text)
		}
	}
	again, err := ParseDependencies(lock)
	if err != nil || len(again.Packages) != 4 {
		t.Errorf("what is stored is not read: %v", err)
	}
	for _, bad := range []struct{ lock, says string }{
		{head + rest, "a itself is missing"},
		{head + `"node_modules/a":{"version":"1.0.1"},` + rest, "a is 1.0.1, and not 1.0.0"},
		{head + `"node_modules/a":{"version":"1.0.0","name":"other"},` + rest, "a is an alias of other"},
		{head + `"node_modules/a":{"version":"1.0.0","resolved":"https://example.com/a.tgz"},` + rest, "only packages"},
		{head + `"node_modules/a":{"version":"1.0.0","link":true},` + rest, "is a link"},
		{head + `"../a":{"version":"1.0.0"},` + rest, "not a path below node_modules"},
		{strings.Replace(head, `:3,`, `:2,`, 1) + rest, "lockfileVersion is 2"},
	} {
		if _, err := ParseDependencies([]byte(bad.lock)); err == nil || !strings.Contains(err.Error(), bad.says) {
			t.Errorf("%s: %v", bad.says, err)
		}
	}
}
