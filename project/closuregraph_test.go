package project

import (
	"fmt"
	"strings"
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

// Of packages that are for other systems npm leaves out those that are optional, what cannot be without them, and what
// only these need.
func TestFor(t *testing.T) {
	const head = `{"name": "hallmark-closure", "lockfileVersion": 3, "requires": true, "packages": {
		"": {"dependencies": {"a": "1.0.0"}},
		"node_modules/a": {"version": "1.0.0", "dependencies": {"b": "1"}, "optionalDependencies": {"mac": "1", "c": "1",
			"gone": "1", "gnu": "1"}, "peerDependencies": {"peer": "1"}, "peerDependenciesMeta": {"peer": {"optional": true}}},
		"node_modules/peer": {"version": "1.0.0", "optional": true, "os": ["darwin", "any"]},
		"node_modules/mac": {"version": "1.0.0", "optional": true, "os": "darwin", "dependencies": {"b": "1", "only": "1"}},
		"node_modules/only": {"version": "1.0.0", "optional": true, "dependencies": {"only2": "1"}},
		"node_modules/only2": {"version": "1.0.0", "optional": true, "dependencies": {"only": "1"}},
		"node_modules/c": {"version": "1.0.0", "optional": true, "dependencies": {"d": "1"}},
		"node_modules/d": {"version": "1.0.0", "optional": true, "cpu": ["!x64", "!arm64"]},
		"node_modules/gnu": {"version": "1.0.0", "optional": true, "libc": ["glibc"]},
		"node_modules/b": {"version": "1.0.0"`
	linux := NodePlatform{OS: "linux", CPU: "x64", Libc: "glibc"}
	for _, test := range []struct {
		rest string
		on   NodePlatform
		want string
	}{
		{"", linux, "a b gnu"},
		{"", NodePlatform{OS: "linux", CPU: "x64", Libc: "musl"}, "a b"},
		{"", NodePlatform{OS: "linux", CPU: "x64"}, "a b"},
		{"", NodePlatform{OS: "darwin", CPU: "ia32"}, "a b c d mac only only2 peer"},
		{`, "os": ["!win32"]`, linux, "a b gnu"},
		{`, "os": ["!win32"]`, NodePlatform{OS: "win32", CPU: "x64"}, "npm:b@1.0.0 is not for win32 x64, and cannot be left out"},
		{`, "dependencies": {"d": "1"}`, linux, "npm:a@1.0.0 is not for linux x64, and cannot be left out"},
	} {
		c, err := ParsePackageLock([]byte(head + test.rest + "}}}"))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		packages, err := c.For(test.on)
		for _, p := range packages {
			got = append(got, p.Ref.Name())
		}
		if err != nil {
			got = []string{err.Error()}
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%v %s: %v, want %s", test.on, test.rest, got, test.want)
		}
	}
}
