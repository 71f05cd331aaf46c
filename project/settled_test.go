package project

import (
	"encoding/json"
	"testing"

	"github.com/hallmark-mcp/hallmark/artifact"
)

// TestSettledDependencies: what npm installs from asks for nothing that a registry must answer: neither by a tag nor for
// an optional package that npm did not find. What is stored says what npm wrote.
func TestSettledDependencies(t *testing.T) {
	const lock = `{"name":"hallmark-closure","lockfileVersion":3,"requires":true,"packages":{
		"":{"name":"hallmark-closure","dependencies":{"a":"1.0.0"}},
		"node_modules/a":{"version":"1.0.0","dependencies":{"b":"latest","c":"^1.0.0"},"peerDependencies":{"c":"next"},
			"optionalDependencies":{"a-linux":"1.0.0","a-windows":"1.0.0"}},
		"node_modules/a/node_modules/a-linux":{"version":"1.0.0","optional":true,"optionalDependencies":{"c":"x","d":"*"}},
		"node_modules/b":{"version":"1.0.0","dependencies":{"c":"v1"},"optionalDependencies":{"a-linux":"1.0.0"}},
		"node_modules/c":{"version":"1.0.0"}}}`
	c, err := ParsePackageLock([]byte(lock))
	if err != nil {
		t.Fatal(err)
	}
	installed, _, err := c.ForInstall(map[artifact.Ref]string{})
	if err != nil {
		t.Fatal(err)
	}
	stored, err := c.Encode()
	if err != nil {
		t.Fatal(err)
	}
	for what, test := range map[string]struct {
		data []byte
		want map[string]string // by package and member
	}{
		"installed": {installed, map[string]string{
			"node_modules/a dependencies":                              `{"b":"*","c":"^1.0.0"}`,
			"node_modules/a peerDependencies":                          `{"c":"*"}`,
			"node_modules/a optionalDependencies":                      `{"a-linux":"1.0.0"}`,
			"node_modules/a/node_modules/a-linux optionalDependencies": `{"c":"x"}`,
			"node_modules/b dependencies":                              `{"c":"v1"}`,
			"node_modules/b optionalDependencies":                      `{}`,
		}},
		"stored": {stored, map[string]string{
			"node_modules/a dependencies":         `{"b":"latest","c":"^1.0.0"}`,
			"node_modules/a optionalDependencies": `{"a-linux":"1.0.0","a-windows":"1.0.0"}`,
		}},
	} {
		var file packageLock
		if err := json.Unmarshal(test.data, &file); err != nil {
			t.Fatal(err)
		}
		for at, entry := range file.Packages {
			for member, value := range entry {
				want, ok := test.want[at+" "+member]
				got := map[string]string{}
				if ok && json.Unmarshal(value, &got) == nil {
					if text, _ := json.Marshal(got); string(text) != want {
						t.Errorf("%s: %s %s is %s, want %s", what, at, member, text, want)
					}
					delete(test.want, at+" "+member)
				}
			}
		}
		for left := range test.want {
			t.Errorf("%s: %s is missing", what, left)
		}
	}
	for spec, want := range map[string]bool{"latest": true, "next-8": true, "xyz": true, "valid": true, "": false,
		"x": false, "X.1": false, "v1": false, "V2.0": false, "1.0": false, "*": false, "^1": false, "npm:b@1": false,
		"https://example.com/a": false, "user/repository": false, "a || b": false} {
		if isTag(spec) != want {
			t.Errorf("%q is a tag: %v", spec, !want)
		}
	}
}
