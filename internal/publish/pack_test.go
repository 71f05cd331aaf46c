package publish

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/archive"
	"github.com/hallmark-mcp/hallmark/tree"
)

const (
	facetManifest = `{"name":"kit","version":"1.0.0","files":["NOTICE"],"agents":{"a":{"description":"x"}}}`
	serverJSON    = `{"name":"notes","version":"1.4.0","description":"Notes","runtime":"node","entry":"main.js"}`
)

// dirOf writes files; a text that begins with "->" is a link.
func dirOf(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for path, text := range files {
		name := filepath.Join(dir, filepath.FromSlash(path))
		err := os.MkdirAll(filepath.Dir(name), 0o700)
		if to, ok := strings.CutPrefix(text, "->"); ok {
			err = errors.Join(err, os.Symlink(to, name))
		} else {
			err = errors.Join(err, os.WriteFile(name, []byte(text), 0o600))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// A facet has what its manifest names, a server all of its files but those of version control and its own
// archive; what was hidden is told, and the same files give the same bytes.
func TestMembers(t *testing.T) {
	for name, c := range map[string]struct {
		files              map[string]string
		want, hidden, left string
	}{
		"facet": {map[string]string{"facet.json": facetManifest, "NOTICE": "x", "agents/a.md": "x", "other": "x",
			".git/config": "x", "skills/x/y.md": "x"}, "NOTICE agents/a.md facet.json", "", "skills/x/y.md"},
		"server": {map[string]string{"server.json": serverJSON, "main.js": "x", "lib/.env": "x", ".git/config": "x",
			".hg/x": "x", ".github/x": "x"}, ".github/x lib/.env main.js server.json", ".github/x lib/.env", ""},
	} {
		dir := dirOf(t, c.files)
		file := filepath.Join(dir, "out.facet")
		var before []byte
		for range 2 { // the second time the archive lies among the files
			p, err := Pack(t.Context(), PackOptions{Dir: dir, File: file})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			var got []string
			for _, f := range p.Files {
				got = append(got, f.Path)
			}
			slices.Sort(got)
			if strings.Join(got, " ") != c.want || strings.Join(p.Hidden, " ") != c.hidden ||
				strings.Join(p.Left, " ") != c.left {
				t.Errorf("%s has %q, of them hidden %q, without %q", name, got, p.Hidden, p.Left)
			}
			data, err := os.ReadFile(file)
			if err != nil || before != nil && !slices.Equal(data, before) {
				t.Errorf("%s: other bytes the second time, %v", name, err)
			}
			before = data
		}
	}
}

// What cannot be an archive is the author's mistake, names the file, and leaves an older archive as it was.
func TestRefusals(t *testing.T) {
	server := func(path, text string) map[string]string {
		return map[string]string{"server.json": serverJSON, "main.js": "x", path: text}
	}
	kit := func(path, text string) map[string]string {
		return map[string]string{"facet.json": facetManifest, "NOTICE": "x", "agents/a.md": "x", path: text}
	}
	for name, c := range map[string]struct {
		files map[string]string
		says  string
	}{
		"nothing":           {map[string]string{"x": ""}, "holds neither facet.json nor server.json"},
		"no JSON":           {kit("facet.json", "{"), "facet.json"},
		"a linked manifest": {kit("facet.json", "->NOTICE"), `"facet.json" is a symbolic link`},
		"a linked file":     {kit("NOTICE", "->agents/a.md"), `"NOTICE" is a symbolic link`},
		"a linked member":   {kit("agents/a.md", "->../NOTICE"), `"agents/a.md" is a symbolic link`},
		"a repository":      {server("sub/.git/x", "x"), `"sub/.git/x"`},
		"a missing file":    {map[string]string{"facet.json": facetManifest, "NOTICE": "x"}, "agents/a.md"},
		"a link in it":      {server("lib/x", "->../main.js"), `"lib/x" is a symbolic link`},
		"no entry":          {server("server.json", strings.Replace(serverJSON, "main.js", "no.js", 1)), "no.js"},
		"a dir that is one": {map[string]string{"facet.json": facetManifest, "NOTICE/x": "x", "agents/a.md": "x"},
			`"NOTICE" is a directory`},
		"a linked dir": {map[string]string{"facet.json": facetManifest, "NOTICE": "x", "d/a.md": "x",
			"agents": "->d"}, `"agents" is a symbolic link`},
	} {
		dir, file := dirOf(t, c.files), filepath.Join(t.TempDir(), "out.facet")
		if err := os.WriteFile(file, []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Pack(t.Context(), PackOptions{Dir: dir, File: file})
		if data, _ := os.ReadFile(file); evidence.ClassOf(err) != evidence.Validation ||
			!strings.Contains(err.Error(), c.says) ||
			string(data) != "old" {
			t.Errorf("%s: %v (%v); the older archive has %d bytes", name, err, evidence.ClassOf(err), len(data))
		}
	}
	if _, err := Pack(t.Context(), PackOptions{Dir: filepath.Join(t.TempDir(), "none")}); evidence.ClassOf(err) !=
		evidence.Validation {
		t.Errorf("no directory: %v", err)
	}
	_, err := Pack(t.Context(), PackOptions{Dir: dirOf(t, kit("NOTICE", strings.Repeat("x", 5000))), File: "none",
		Limits: archive.Limits{Unpacked: 4096}})
	if evidence.ClassOf(err) != evidence.Validation {
		t.Errorf("too large: %v", err)
	}
}

// A file that is replaced by something else after it was listed is no member.
func TestChangedSince(t *testing.T) {
	dir := dirOf(t, map[string]string{"facet.json": facetManifest, "NOTICE": "x", "agents/a.md": "x"})
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	d := &SourceDir{Root: root}
	if err := errors.Join(d.List(), os.Remove(filepath.Join(dir, "NOTICE")), os.Mkdir(filepath.Join(dir, "NOTICE"),
		0o700)); err != nil ||
		len(d.Files) != 3 {
		t.Fatalf("%d files, %v", len(d.Files), err)
	}
	if _, err := d.Open("NOTICE"); !errors.Is(err, tree.ErrChanged) {
		t.Errorf("%v", err)
	}
}
