package operator

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/hallmark-mcp/hallmark/cmd/internal/app"
	"github.com/hallmark-mcp/hallmark/cmd/internal/program"
)

// run runs a command of hallmark-registry and returns what it printed and its exit code.
func run(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, log bytes.Buffer
	a := &app.App{Name: "hallmark-registry", Stdin: os.Stdin, Stdout: &out, Stderr: &log, Bars: app.NewBars(os.Stderr)}
	root := HallmarkRegistry(a)
	root.SetArgs(args)
	root.SetOut(&out)
	root.SetErr(&log)
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return app.Usage(c, err) })
	err := root.ExecuteContext(t.Context())
	var shown program.Shown
	if err != nil && !errors.As(err, &shown) {
		log.WriteString(err.Error())
	}
	return out.String(), log.String(), program.ExitCode(err)
}

func TestRegistryDataCommands(t *testing.T) {
	dir := t.TempDir()
	data, seed := filepath.Join(dir, "data"), filepath.Join(dir, "seed.json")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(seed, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	registry := func(args ...string) (string, string, int) {
		return run(t, append(args, "--data", data)...)
	}
	document := `{"name":"com.example/a","version":"1.0.0","description":"A","remotes":[{"type":"sse",` +
		`"url":"https://example.com"}]}`

	for _, c := range [][]string{{"export"}, {"backup", filepath.Join(dir, "b.db")}, {"reverify"}} {
		if out, log, code := registry(c...); code != 1 || out != "" || !strings.Contains(log, "--data") {
			t.Errorf("%q without a registry: %d %q %q", c, code, out, log)
		}
	}
	if _, err := os.Stat(data); err == nil {
		t.Error("a registry was made")
	}
	for _, c := range [][]string{{"import"}, {"import", "a", "b"}, {"backup"}, {"export", "a", "b"}, {"reverify", "x"},
		{"reverify", "--since", "yesterday"}, {"import", filepath.Join(dir, "absent.json")}} {
		if _, log, code := registry(c...); code != 2 {
			t.Errorf("%q: %d %q", c, code, log)
		}
	}

	if _, log, code := registry("import", "registry.example.com"); code != 2 || strings.Contains(log, "0 records") ||
		!strings.Contains(log, "https://") {
		t.Errorf("import of a name: %d %q", code, log)
	}
	write("[" + document + "]")
	if out, log, code := registry("import", seed); code != 0 || out != "" ||
		!strings.Contains(log, "1 record added, 0 present, 1 that would be refused at publish") {
		t.Errorf("import: %d %q %q", code, out, log)
	}
	out, _, code := registry("import", seed, "--json")
	var answer struct {
		OK      bool
		Added   int
		Present int
	}
	if err := json.Unmarshal([]byte(out), &answer); err != nil || code != 0 || !answer.OK || answer.Present != 1 ||
		answer.Added != 0 {
		t.Errorf("import --json: %d %s %v", code, out, err)
	}
	write(strings.Replace(document, `"A"`, `"B"`, 1))
	out, log, code := registry("import", seed)
	if code != 3 || out != "" || !strings.Contains(log, "com.example/a@1.0.0: another document was imported before") {
		t.Errorf("conflict: %d %q %q", code, out, log)
	}
	out, _, code = registry("import", seed, "--json")
	if code != 3 || !strings.Contains(out, `"exit_code": 3`) || !strings.Contains(out, "another document") {
		t.Errorf("conflict --json: %d %s", code, out)
	}

	exported, log, code := registry("export")
	if code != 0 || strings.Count(exported, "\n") != 1 ||
		!strings.Contains(exported, `"importedFrom":"file:seed.json"`) ||
		!strings.Contains(log, "hallmark-registry: 1 record\n") {
		t.Errorf("export: %d %q %q", code, exported, log)
	}
	file := filepath.Join(dir, "export.jsonl")
	if out, _, code := registry("export", file); code != 0 || out != "" {
		t.Errorf("export to a file: %d %q", code, out)
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != exported {
		t.Errorf("file %q, %v", got, err)
	}
	if _, log, code := registry("export", file); code != 2 || !strings.Contains(log, "export.jsonl") {
		t.Errorf("over a file: %d %q", code, log)
	}

	backup := filepath.Join(dir, "copy", "registry.db")
	if err := os.Mkdir(filepath.Dir(backup), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, log, code := registry("backup", backup); code != 0 || !strings.Contains(log, "blobs as well") {
		t.Errorf("backup: %d %q", code, log)
	}
	if _, log, code := registry("backup", backup); code != 2 || !strings.Contains(log, "new name") {
		t.Errorf("over a backup: %d %q", code, log)
	}
	if again, log, code := run(t, "export", "--data", filepath.Dir(backup)); code != 0 || again != exported {
		t.Errorf("export of the backup: %d %q %q", code, again, log)
	}

	if out, log, code := registry("reverify", "--since", "30d"); code != 0 || out != "" ||
		!strings.Contains(log, "0 with claims, 0 failing, 0 new findings") {
		t.Errorf("reverify: %d %q %q", code, out, log)
	}
	if out, _, code := registry("reverify", "--json"); code != 0 || !strings.Contains(out, `"failing": []`) ||
		!strings.Contains(out, `"records": 1`) {
		t.Errorf("reverify --json: %d %q", code, out)
	}
}

func TestSince(t *testing.T) {
	now := time.Date(2026, 3, 31, 12, 0, 0, 0, time.UTC)
	for s, want := range map[string]string{
		"2026-01-31T12:00:00+01:00": "2026-01-31T11:00:00Z", "2026-01-31": "2026-01-31T00:00:00Z",
		"30d": "2026-03-01T12:00:00Z", "0d": "2026-03-31T12:00:00Z", "90m": "2026-03-31T10:30:00Z",
		"": "", "-1h": "", "-3d": "", "3 d": "", "3dx": "", "d": "", "tomorrow": "", "99999999999d": "",
	} {
		got, err := parseSince(s, now)
		if want == "" {
			if err == nil {
				t.Errorf("%q: %s", s, got)
			}
			continue
		}
		if err != nil || got.UTC().Format(time.RFC3339) != want {
			t.Errorf("%q: %s, %v; want %s", s, got.UTC(), err, want)
		}
	}
}
