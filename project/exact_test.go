package project

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestExactConfig: a key of hallmark.toml has one spelling, at every depth; go-toml takes any
// case, and the last of two.
func TestExactConfig(t *testing.T) {
	for name, text := range map[string]string{
		"top":      "Manifest_version = 1\n",
		"table":    "manifest_version = 1\n[Providers.mcp.x]\ncommand = \"a\"\n",
		"kind":     "manifest_version = 1\n[providers.MCP.x]\ncommand = \"a\"\n",
		"twice":    "manifest_version = 1\n[providers.mcp.x]\ncommand = \"a\"\nCommand = \"b\"\n",
		"waiver":   "manifest_version = 1\n[providers.mcp.x]\ncommand = \"a\"\nUnlocked = true\n",
		"registry": "manifest_version = 1\n[registry]\nURL = \"https://example.com\"\n",
		"facets":   "manifest_version = 1\n[Facets]\nkit = \"kit\"\n",
	} {
		if _, err := ParseConfig([]byte(text)); err == nil || !strings.Contains(err.Error(), "case counts") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"MCP", "Command", "x"} { // the name of a server is anybody's
		if _, err := ParseConfig([]byte("manifest_version = 1\n[providers.mcp." + name + "]\ncommand = \"a\"\n")); err != nil {
			t.Error(err)
		}
	}
}

// TestExactLock: "Servers" is not "servers".
func TestExactLock(t *testing.T) {
	good, err := (&Lock{}).Encode()
	if err != nil {
		t.Fatal(err)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(good, &members); err != nil {
		t.Fatal(err)
	}
	members["Servers"] = json.RawMessage(`{}`)
	text, err := json.MarshalIndent(members, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ParseLock(append(text, '\n')); err == nil || !strings.Contains(err.Error(), "case counts") {
		t.Errorf("%v", err)
	}
}

// TestExactFiles: each codec of a file here decodes exactly: a member whose first letter is
// another case is refused, at every depth.
func TestExactFiles(t *testing.T) {
	for name, read := range map[string]func([]byte) error{
		"approvals": func(d []byte) error { _, err := ParseApprovals(d, "/p"); return err },
		"modules":   func(d []byte) error { _, err := parseModules(d); return err },
		"wheels":    func(d []byte) error { _, err := parseWheels(d); return err },
	} {
		member := map[string]string{"approvals": "Project", "modules": "Engine", "wheels": "Engine"}[name]
		if err := read([]byte(`{"` + member + `": null}`)); err == nil || !strings.Contains(err.Error(), "case counts") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestExactClosure: a closure of npm has the members that Hallmark writes, as it spells them, and
// the one that npm wrote may have more, but none in another case.
func TestExactClosure(t *testing.T) {
	const good = `{"lockfileVersion": 3, "name": "hallmark-closure", "packages": {"": {"dependencies": {"a": "1.0.0"}, "name": "hallmark-closure"}, ` +
		`"node_modules/a": {"version": "1.0.0", "os": ["linux"]}}, "requires": true}`
	for _, x := range []struct {
		old, new  string
		npms, own bool // whether npm's and ours is read
	}{
		{"", "", true, true},
		{`"packages": {"":`, `"Packages": {}, "packages": {"":`, false, false},
		{`"packages"`, `"PACKAGES"`, false, false},
		{`"lockfileVersion"`, `"lockfileversion"`, false, false},
		{`"requires": true`, `"requires": true, "Requires": false`, false, false},
		{`"requires": true`, `"requires": true, "x": 1`, true, false},
		{`"requires": true`, `"requires": true, "Engine": "uv"`, true, false},
		{`"version": "1.0.0",`, `"version": "1.0.0", "Version": "2.0.0",`, true, false},
		{`"version": "1.0.0",`, `"version": "1.0.0", "license": "MIT",`, true, false},
	} {
		data := []byte(strings.Replace(good, x.old, x.new, 1))
		if _, err := ParseClosure(data); (err == nil) != x.own {
			t.Errorf("%s: %v", x.new, err)
		}
		if _, err := ParsePackageLock(data); (err == nil) != x.npms {
			t.Errorf("npm's %s: %v", x.new, err)
		}
	}
}
