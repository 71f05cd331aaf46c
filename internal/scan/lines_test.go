package scan

import (
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/launcher"
)

// TestLines: what is said of command lines as people write them, in testdata/lines.tsv. What fetches packages and cannot
// be told is refused as what can be told is, and what is proposed runs the same packages, pinned.
func TestLines(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "lines.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	type entry struct {
		Command string   `json:"command"`
		Args    []string `json:"args"`
	}
	var rows [][]string
	servers := map[string]entry{}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		row := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		var words []string
		if err := json.Unmarshal([]byte(row[0]), &words); err != nil || len(row) != 4 {
			t.Fatalf("%q: %v", line, err)
		}
		servers[strconv.Itoa(len(rows))] = entry{words[0], words[1:]}
		rows = append(rows, row)
	}
	if len(rows) < 150 {
		t.Fatalf("%d lines", len(rows))
	}
	dir := t.TempDir()
	data, err := json.Marshal(map[string]any{"mcpServers": servers})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, ".cursor"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".cursor", "mcp.json"), data, 0o644); err != nil {
		t.Fatal(err)
	}
	h := &host.Host{Places: host.Places{State: filepath.Join(dir, "state"), Cache: filepath.Join(dir, "cache")},
		Getenv: func(string) string { return "" }, Logger: slog.New(slog.DiscardHandler)}
	found, err := Scan(t.Context(), h, Options{Dir: dir, Home: dir})
	if err != nil || len(found.Servers) != len(rows) {
		t.Fatalf("%d servers, %v", len(found.Servers), err)
	}
	for _, s := range found.Servers {
		at, err := strconv.Atoi(s.Name)
		if err != nil {
			t.Fatal(err)
		}
		var rules []string
		fix := ""
		for _, f := range s.Findings {
			mark := ""
			switch {
			case f.Class == evidence.OK && !f.Warning:
				continue
			case f.Warning:
				mark = "?"
			}
			rules = append(rules, f.Evidence.Rule+mark)
			if fix == "" {
				fix = f.Evidence.Fix
			}
		}
		if got := []string{rows[at][0], string(s.State), strings.Join(rules, " "), fix}; !slices.Equal(got, rows[at]) {
			t.Errorf("got %q, want %q", got[1:], rows[at])
		}
		var args []string
		if json.Unmarshal([]byte(fix), &args) != nil {
			continue
		}
		e := servers[s.Name]
		now, then := launcher.Parse(e.Command, e.Args), launcher.Parse(e.Command, fillIn(e.Command, args))
		if then.Opaque != "" || !then.Pinned() || !slices.EqualFunc(now.Packages, then.Packages,
			func(a, b launcher.Package) bool { return a.Ecosystem == b.Ecosystem && a.Name == b.Name }) ||
			!slices.Equal(now.Args, then.Args) {
			t.Errorf("%s: to write %s is not the same, pinned: %+v", rows[at][0], fix, then)
		}
	}
}

// fillIn returns the arguments that are proposed, with what the user is to fill in.
func fillIn(command string, args []string) []string {
	version, out := "@1.2.3", slices.Clone(args)
	if command == "go" {
		version = "@v1.2.3"
	}
	for i, arg := range out {
		out[i] = strings.NewReplacer("@<version>", version, "=<version>", "=1.2.3",
			"<digest>", strings.Repeat("a", 64), "<commit>", strings.Repeat("0", 40)).Replace(arg)
	}
	return out
}

// A version is no pin where the entry says where packages come from.
func TestVariablesOfPins(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, ".cursor"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]State{"LOG_LEVEL": StatePinned, "npm_config_registry": StateOpen, "NODE_OPTIONS": StateOpen,
		"UV_DEFAULT_INDEX": StateOpen, "UV_HTTP_TIMEOUT": StatePinned, "UV_NEW_OPTION": StateOpen, "DOCKER_HOST": StateOpen, "npm_config_loglevel": StatePinned, "PIP_EXTRA_INDEX_URL": StateOpen} {
		text := `{"mcpServers": {"a": {"command": "npx", "args": ["a@1.0.0"], "env": {"` + name + `": "x"}}}}`
		if err := os.WriteFile(filepath.Join(dir, ".cursor", "mcp.json"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		h := &host.Host{Places: host.Places{State: filepath.Join(dir, "state"), Cache: filepath.Join(dir, "cache")},
			Getenv: func(string) string { return "" }, Logger: slog.New(slog.DiscardHandler)}
		found, err := Scan(t.Context(), h, Options{Dir: dir, Home: dir})
		if err != nil || len(found.Servers) != 1 || found.Servers[0].State != want {
			t.Errorf("%s: %+v, %v", name, found.Servers, err)
		}
	}
}
