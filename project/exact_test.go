package project

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/digest"
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

// TestExactLock: "Servers" is not "servers", with whatever seal.
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
	delete(members, "self")
	text, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	self, err := selfOf(text)
	if err != nil {
		t.Fatal(err)
	}
	members["self"], _ = json.Marshal(self)
	text, err = json.MarshalIndent(members, "", "  ")
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
		"approvals":    func(d []byte) error { _, err := ParseApprovals(d, "/p"); return err },
		"logs":         func(d []byte) error { _, err := ParseLogs(d); return err },
		"drift":        func(d []byte) error { _, err := ParseDrift(d); return err },
		"variables":    func(d []byte) error { _, err := ParseVariables(d); return err },
		"modules":      func(d []byte) error { _, err := parseModules(d); return err },
		"wheels":       func(d []byte) error { _, err := parseWheels(d); return err },
		"receipt":      func(d []byte) error { return decodeState(d, new(Receipt)) },
		"materialized": func(d []byte) error { return decodeState(d, new(Materialized)) },
	} {
		member := map[string]string{"approvals": "Project", "logs": "Logs_version", "drift": "Drift_version", "variables": "Variables_version",
			"modules": "Engine", "wheels": "Engine", "receipt": "Self", "materialized": "Self"}[name]
		if err := read([]byte(`{"` + member + `": null}`)); err == nil || !strings.Contains(err.Error(), "case counts") {
			t.Errorf("%s: %v", name, err)
		}
	}
	type inner struct {
		Name string        `json:"name"`
		Sum  digest.Digest `json:"sum"`
	}
	var outer struct {
		inner
		All map[string][]inner `json:"all"`
		Any any                `json:"any"`
	}
	for text, bad := range map[string]bool{
		`{"name": "", "all": {"Name": [{"name": ""}]}, "any": {"Name": 1}}`: false,
		`{"Name": ""}`:                   true,
		`{"all": {"x": [{"NAME": ""}]}}`: true,
		`{"ALL": null}`:                  true,
	} {
		if err := exactJSON([]byte(text), &outer); (err != nil) != bad {
			t.Errorf("%s: %v", text, err)
		}
	}
	if names := spelledNames(reflect.TypeOf(outer), "json"); len(names) != 4 {
		t.Errorf("%v", names)
	}
}
