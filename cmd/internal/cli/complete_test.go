package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/cmd/internal/app"
)

// A shell is offered the names of hallmark.toml, and where there are none, nothing.
func TestCompletion(t *testing.T) {
	dir := t.TempDir()
	text := "manifest_version = 1\n[providers.mcp.notes]\ncommand = \"notes\"\n[providers.mcp.tasks]\n" +
		"command = \"tasks\"\n[facets]\n\"@acme/reviewer\" = \"1.*\"\n"
	if err := os.WriteFile(filepath.Join(dir, "hallmark.toml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HALLMARK_HOME", dir)
	if err := os.Mkdir(filepath.Join(dir, "config"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "config", "hallmark.toml"), []byte("manifest_version = 1\n[providers.mcp.mine]\ncommand = \"mine\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"undo |":                                 "mine",
		"protect --client claude-|":              "claude-desktop claude-code",
		"scan --client zc|":                      "zcode",
		"run --project " + dir + " |":            "notes tasks",
		"run --project " + dir + " n|":           "notes",
		"pin --project " + dir + " notes |":      "tasks",
		"upgrade --project " + dir + " |":        "@acme/reviewer notes tasks",
		"unpin --project " + dir + "/none |":     "",
		"review --project " + dir + " x|":        "",
		"help log |":                             "forget monitor proof verify witness",
		"verify-server --project " + dir + " t|": "tasks",
	} {
		args := strings.Fields(strings.ReplaceAll(line, "|", ""))
		if strings.HasSuffix(line, " |") {
			args = append(args, "")
		}
		root := app.Definition(Hallmark)
		var out bytes.Buffer
		root.SetOut(&out)
		root.SetErr(new(bytes.Buffer))
		root.SetArgs(append([]string{"__complete"}, args...))
		if err := root.Execute(); err != nil {
			t.Errorf("%s: %v", line, err)
		}
		var got []string
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		for _, l := range lines[:len(lines)-1] {
			name, _, _ := strings.Cut(l, "\t")
			got = append(got, name)
		}
		if strings.Join(got, " ") != want || lines[len(lines)-1] != ":4" {
			t.Errorf("%s: %q", line, lines)
		}
	}
}
