package clients

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOriginalsExact: a member of the file beside a client's has one spelling: what is given back
// to the client is what whoever reads the file sees.
func TestOriginalsExact(t *testing.T) {
	file := filepath.Join(t.TempDir(), ".mcp.json")
	const good = `{"originals_version": 1, "entries": [{"file": ".mcp.json", "name": "a", "was": "x", "now": "y"}]}`
	for old, new := range map[string]string{
		"":                    "",
		`"was": "x"`:          `"Was": "x"`,
		`"was": "x",`:         `"was": "x", "Was": "z",`,
		`"entries"`:           `"Entries"`,
		`"originals_version"`: `"Originals_Version"`,
		`"now": "y"}]`:        `"now": "y"}], "more": 1`,
	} {
		if err := os.WriteFile(OriginalsPath(file), []byte(strings.Replace(good, old, new, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		if all, err := LoadOriginals(file); (err == nil) != (old == "") {
			t.Errorf("%s: %v, %v", new, all, err)
		}
	}
}

// TestOriginalsConflict: a merge of two branches that both rewrote entries is told as what it is.
func TestOriginalsConflict(t *testing.T) {
	file := filepath.Join(t.TempDir(), ".mcp.json")
	text := "{\"originals_version\": 1, \"entries\": [\n<<<<<<< HEAD\n=======\n>>>>>>> a\n]}"
	if err := os.WriteFile(OriginalsPath(file), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadOriginals(file); err == nil || !strings.Contains(err.Error(), "has merge conflict markers") {
		t.Error(err)
	}
}

// TestRestoreCopy: of two entries that were rewritten to the same, each gets back its own bytes, in either order.
func TestRestoreCopy(t *testing.T) {
	const now = "command = \"/opt/hallmark\"\nargs = [\"run\", \"notes\"]"
	data := []byte("[mcp_servers.notes]\n" + now + " # there\n\n[mcp_servers.copy]\n" + now + "\n")
	for _, names := range [][]string{{"notes", "copy"}, {"copy", "notes"}} {
		got := data
		for _, name := range names {
			var err error
			if got, err = Restore(got, Change{File: filepath.Join(".codex", "config.toml"), Name: name,
				Was: `url = "https://` + name + `.example.com"`, Now: now}); err != nil {
				t.Fatal(names, name, err)
			}
		}
		want := "[mcp_servers.notes]\nurl = \"https://notes.example.com\" # there\n\n" +
			"[mcp_servers.copy]\nurl = \"https://copy.example.com\"\n"
		if string(got) != want {
			t.Errorf("%q: %s", names, got)
		}
	}
}
