//go:build unix

package editing

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/e2e/built"
	"github.com/hallmark-mcp/hallmark/e2e/world"
	"github.com/hallmark-mcp/hallmark/internal/clients"
)

// TestHashfileEntries writes the entry that docs/hashfile.md gives for each client into that client's file, and has
// scan read it. No client that scan knows lacks a row.
func TestHashfileEntries(t *testing.T) {
	page, err := os.ReadFile("../../docs/hashfile.md")
	if err != nil {
		t.Fatal(err)
	}
	entries := map[string]string{}
	for _, m := range regexp.MustCompile("(?s)\\n\\((.)\\)\\n\\n```[a-z]+\\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		entries[m[1]] = m[2]
	}
	program := filepath.Join(t.TempDir(), "hallmark")
	built.Into(t, program, "cmd/hallmark")
	rows := regexp.MustCompile("(?m)^\\| ([A-Za-z ]+) \\| `([^`]+)`[^|]*\\| \\((.)\\)(.*) \\|$").FindAllStringSubmatch(string(page), -1)
	if len(rows) < len(clients.Names()) {
		t.Errorf("%d rows for %d clients", len(rows), len(clients.Names()))
	}
	for _, row := range rows {
		name, file, entry := row[1], row[2], entries[row[3]]
		if name == "a project of Hallmark" { // which is run, and not scanned
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if strings.Contains(row[4], "under `servers`") {
				entry = strings.Replace(entry, `"mcp"`, `"servers"`, 1)
			}
			home, project := t.TempDir(), t.TempDir()
			path := filepath.Join(project, file)
			if rest, ok := strings.CutPrefix(file, "~"); ok {
				path = filepath.Join(home, rest)
			}
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			world.Write(t, path, strings.ReplaceAll(entry, "/home/me/src/project", filepath.ToSlash(project)))
			cmd := exec.CommandContext(t.Context(), program, "scan", "--json")
			cmd.Dir = project
			cmd.Env = append(os.Environ(), "HOME="+home, "HALLMARK_HOME="+filepath.Join(home, "hallmark"),
				"XDG_CONFIG_HOME="+filepath.Join(home, ".config"), "CODEX_HOME=", "COPILOT_HOME=")
			out, _ := cmd.Output() // what it thinks of the entry is not the question
			var found struct {
				Servers []struct{ Name, Command string }
			}
			if err := json.Unmarshal(out, &found); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			for _, s := range found.Servers {
				if s.Name == "hashfile" && strings.HasPrefix(s.Command, "hashfile-mcp") {
					return
				}
			}
			t.Errorf("scan does not see the entry: %s", out)
		})
	}
}
