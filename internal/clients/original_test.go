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
