package project

import (
	"fmt"
	"testing"
)

// A package needs those that node finds from where it is installed, and of one inside another's tarball the lock has
// a name.
func TestNeeds(t *testing.T) {
	const integrity = `"integrity": "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="`
	c, err := ParseClosure([]byte(`{"name": "hallmark-closure", "lockfileVersion": 3, "requires": true, "packages": {
		"": {"name": "hallmark-closure", "dependencies": {"@s/a": "1.0.0"}},
		"node_modules/@s/a": {"version": "1.0.0", ` + integrity + `, "dependencies": {"b": "1"}, "peerDependencies": {"a": "1"}},
		"node_modules/@s/a/node_modules/b": {"version": "1.0.0", "inBundle": true, "dependencies": {"c": "1", "b": "*"}},
		"node_modules/b": {"version": "2.0.0", ` + integrity + `, "optionalDependencies": {"gone": "1"}},
		"node_modules/c": {"version": "1.0.0", ` + integrity + `, "dependencies": {"b": "2"}, "peerDependencies": {"b": "2"}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	needs, err := c.Needs()
	if got := fmt.Sprint(needs); err != nil || got != "[[1] [3] [] [2]]" {
		t.Errorf("got %s, %v", got, err)
	}
	if name, version, in := c.Bundled(c.Packages[1]); name != "b" || version != "1.0.0" || in != "node_modules/@s/a" {
		t.Errorf("got %s@%s in %s", name, version, in)
	}
	if needs, err := new(Closure).Needs(); needs != nil || err != nil {
		t.Errorf("a closure that does not say it: %v, %v", needs, err)
	}
}
