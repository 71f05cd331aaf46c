package nodecore

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// A name that is of a module and of a binding needs what either needs.
func TestBuiltinNames(t *testing.T) {
	for name, need := range map[string]string{
		"fs": Files, "node:fs/promises": Files, "fs_event_wrap": Files, "v8": Files, "sqlite": Files, "node:sqlite": Files,
		"net": Network, "stream_wrap": Network, "http_parser": Network, "quic": Network,
		"inspector": Execute, "process_wrap": Execute, "node:test": Execute, "test": Execute,
		"path": "", "util": "", "crypto": "", "zlib": "", "buffer": "", "tty_wrap": "", "node:os": "",
	} {
		found := OfBuiltin(name)
		if len(found) == 0 {
			t.Errorf("%s is refused", name)
		}
		for _, b := range found {
			if b.Need != need || NeedOf(b.Module) != need {
				t.Errorf("%s needs %q as %s", name, b.Need, b.Module)
			}
		}
	}
}

// The tables are in order, say why, and are consistent: evidence looks the permission up by the module.
func TestCoreTables(t *testing.T) {
	for _, rows := range [][]Row{Modules, Bindings} {
		seen, before := map[string]bool{}, ""
		for _, row := range rows {
			first := strings.TrimPrefix(strings.Fields(row.Names)[0], "node:")
			if first < before {
				t.Errorf("%s stands after %s", first, before)
			}
			before = first
			if row.Why == "" || strings.HasSuffix(row.Why, ".") {
				t.Errorf("%s: %q is no reason", row.Names, row.Why)
			}
			if !slices.Contains([]string{"", Network, Files, Execute, Refused}, row.Need) {
				t.Errorf("%s needs %q", row.Names, row.Need)
			}
			for _, name := range strings.Fields(row.Names) {
				if name = strings.TrimPrefix(name, "node:"); seen[name] {
					t.Errorf("%s stands twice", name)
				}
				seen[name] = true
			}
			if of, ok := modulesByName[row.As]; row.As != "" && (!ok || of.Need != row.Need) {
				t.Errorf("%s is not as %s", row.Names, row.As)
			}
		}
	}
}

// The table in docs/plugin-host.md is this one.
func TestCoreDocs(t *testing.T) {
	var want strings.Builder
	want.WriteString("| core modules | permission | why |\n|---|---|---|\n")
	row := func(names, need, why string) {
		if need == "" {
			need = "–"
		}
		fmt.Fprintf(&want, "| `%s` | %s | %s |\n", strings.ReplaceAll(names, " ", "` `"), need, why)
	}
	for _, r := range Modules {
		row(r.Names, r.Need, r.Why)
	}
	want.WriteString("\n| names of `process.binding` | permission | why |\n|---|---|---|\n")
	for _, r := range Bindings {
		row(r.Names, r.Need, r.Why)
	}
	data, err := os.ReadFile("../../docs/plugin-host.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(data), "\n"+want.String()) {
		t.Errorf("docs/plugin-host.md lacks the table:\n%s", want.String())
	}
}
