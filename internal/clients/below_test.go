package clients

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// Every place of every client's file in a project is found, in the project's directory and
// below it, in whatever case a file system may take its name.
func TestBelow(t *testing.T) {
	root := t.TempDir()
	write := func(name string) {
		t.Helper()
		name = filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte("{} # extensions: [{type: stdio}]"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	var want []string
	for _, c := range table {
		for _, l := range c.servers {
			if l.base != project || c.isHallmark {
				continue
			}
			name := strings.ReplaceAll(l.path, "*", "some")
			for _, dir := range []string{"", "one/", "one/node_modules/two/"} {
				want = append(want, dir+name)
			}
			want = append(want, "upper/"+strings.ToUpper(name))
		}
	}
	slices.Sort(want)
	want = slices.Compact(want)
	for _, name := range want {
		write(name)
	}
	for _, name := range []string{".git/.mcp.json", "hallmark.toml", "xmcp.json", "cursor/xmcp.json",
		"docs/mcp.json.md", "docs/.yaml.txt"} {
		write(name)
	}
	names := func(files []File) (out []string) {
		for _, f := range files {
			rel, err := filepath.Rel(root, f.Path)
			if err != nil || f.Root == "" || f.User {
				t.Errorf("%+v, %v", f, err)
			}
			out = append(out, filepath.ToSlash(rel))
		}
		slices.Sort(out)
		return slices.Compact(out)
	}
	found, unread, err := FindBelow(t.Context(), root)
	if got := names(found); err != nil || len(unread) != 0 || !slices.Equal(got, want) {
		t.Errorf("%v, %v\ngot  %q\nwant %q", err, unread, got, want)
	}
	for _, f := range found {
		if !strings.HasPrefix(f.Path, f.Root) || slices.Contains([]string{".vscode", ".cursor"},
			filepath.Base(f.Root)) {
			t.Errorf("%s belongs to %s", f.Path, f.Root)
		}
	}
	if only, _, err := FindBelow(t.Context(), root, "droid"); err != nil || len(only) != 4 {
		t.Errorf("%+v, %v", only, err)
	}
}

// A link to a file or to a directory of a client is followed inside the project, and said
// where it leads out of it.
func TestBelowLinks(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a right there")
	}
	root, out, held := t.TempDir(), t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(held, ".mcp.json"), []byte("{}"), 0o666); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{
		".mcp.json": "real/servers.json", ".cursor": "real", ".vscode": out, ".gemini": "nowhere",
		"kilo.json": filepath.Join(out, "kilo.json"),
		"packages":  out, "vendored": held, "notes": filepath.Join(held, ".mcp.json"), "lost": "nowhere",
		"here": "real", "a/.roo": "../real", "a/opencode.json": "/",
	} {
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, name); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"real/servers.json", "real/mcp.json"} {
		os.MkdirAll(filepath.Join(root, "real"), 0o777)
		if err := os.WriteFile(filepath.Join(root, name), []byte("{}"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	found, unread, err := FindBelow(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range found {
		rel, _ := filepath.Rel(root, f.Path)
		got = append(got, rel)
	}
	for _, u := range unread {
		rel, _ := filepath.Rel(root, u.Path)
		if u.Empty {
			rel += " (empty)"
		}
		got = append(got, rel+": "+u.Why)
	}
	slices.Sort(got)
	want := []string{".cursor/mcp.json", ".gemini: is a link that leads nowhere", ".mcp.json", ".mcp.json",
		".vscode: is a link out of the project, and is not followed",
		"a/.roo/mcp.json", "a/opencode.json: is a link out of the project, and is not followed",
		"kilo.json: is a link that leads nowhere",
		"packages (empty): is a link out of the project, and is not followed", "real/mcp.json",
		"vendored: is a link out of the project, and is not followed, where it leads to a directory with .mcp.json"}
	if !slices.Equal(slices.Compact(got), slices.Compact(want)) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A checkout is read through the link by which it is named, and files are named as it was.
func TestBelowLinkedRoot(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a right there")
	}
	dir := t.TempDir()
	put(t, filepath.Join(dir, "real", ".cursor", "mcp.json"), "{}")
	put(t, filepath.Join(dir, "real", "held", "servers.json"), "{}")
	link := filepath.Join(dir, "current")
	if err := errors.Join(os.Symlink("real", link),
		os.Symlink(filepath.Join(dir, "real", "held", "servers.json"),
			filepath.Join(dir, "real", ".mcp.json"))); err != nil {
		t.Fatal(err)
	}
	t.Chdir(link)
	for _, root := range []string{link, "."} {
		found, unread, err := FindBelow(t.Context(), root, "cursor", "copilot")
		var got []string
		for _, f := range found {
			got = append(got, f.Path)
		}
		if want := []string{filepath.Join(root, ".cursor/mcp.json"), filepath.Join(root, ".mcp.json")}; err != nil ||
			len(unread) > 0 || !slices.Equal(slices.Compact(got), want) {
			t.Errorf("%s: %q, %v, %v", root, got, unread, err)
		}
	}
}

// What some file system takes for the name of a client's file is one.
func TestBelowSpellings(t *testing.T) {
	for name, want := range map[string]string{
		".MCP.json": "", ".mcp.json.": "", ".mcp.json ": "", ".m\u200dcp.json": "", ".v\u017fcode/mcp.json": "",
		".\u212airo/settings/mcp.json": "", ".cursor./MCP.JSON": "",
		".mcp.json::$DATA": "", ".Crush.json": "", ".mcp.json.bak": "-", "x.mcp.json": "-", ".mcp_json": "-",
	} {
		root := t.TempDir()
		if runtime.GOOS != "linux" {
			t.Skip("such names are made on Linux")
		}
		put(t, filepath.Join(root, filepath.FromSlash(name)), "{}")
		found, _, err := FindBelow(t.Context(), root)
		if (len(found) == 0) != (want == "-") || err != nil {
			t.Errorf("%q: %+v, %v", name, found, err)
		}
	}
}

// A link in the place of a client's directory leads to files in any case; a directory in the
// place of a client's file is said; and the most exact place tells the client and the project.
func TestBelowOddities(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a right there")
	}
	root := t.TempDir()
	put(t, filepath.Join(root, "real", "MCP.json"), "{}")
	put(t, filepath.Join(root, "crush.json", "x"), "{}")
	put(t, filepath.Join(root, ".warp", ".mcp.json"), "{}")
	if err := os.Symlink("real", filepath.Join(root, ".cursor")); err != nil {
		t.Fatal(err)
	}
	found, unread, err := FindBelow(t.Context(), root)
	if err != nil || len(unread) != 1 || unread[0].Path != filepath.Join(root, "crush.json") || !unread[0].Empty {
		t.Errorf("%+v, %v", unread, err)
	}
	linked, warp := false, false
	for _, f := range found {
		linked = linked || f.Path == filepath.Join(root, ".cursor", "MCP.json") && f.Client == "cursor"
		if strings.Contains(f.Path, ".warp") {
			warp = warp || f.Client == "warp" && slices.Contains(f.shapes, usualKey)
			if f.Root != root {
				t.Errorf("%+v", f)
			}
		}
	}
	if !linked || !warp {
		t.Errorf("%+v", found)
	}
}

// A checkout with more of clients' files than are looked at says so.
func TestBelowBounded(t *testing.T) {
	root := t.TempDir()
	first := filepath.Join(root, "a.code-workspace")
	put(t, first, "")
	for i := range MaxFiles + 2 {
		if err := os.Link(first, filepath.Join(root, fmt.Sprint(i)+".code-workspace")); err != nil {
			t.Skip(err)
		}
	}
	found, unread, err := FindBelow(t.Context(), root)
	if err != nil || len(found) != MaxFiles || len(unread) != 1 || unread[0].Empty ||
		!strings.Contains(unread[0].Why, "not all were looked at") {
		t.Errorf("%d files, %+v, %v", len(found), unread, err)
	}
}

func put(t *testing.T, name, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o777), os.WriteFile(name, []byte(text), 0o666)); err != nil {
		t.Fatal(err)
	}
}

// To which directory a file belongs does not depend on which clients are looked for.
func TestRootOfOneClient(t *testing.T) {
	dir := t.TempDir()
	at := filepath.Join(dir, ".kiro", "settings", "mcp.json")
	if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte(`{"mcpServers": {}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, ids := range [][]string{nil, {"kiro"}, {"cursor"}} {
		files, _, err := FindBelow(t.Context(), dir, ids...)
		if err != nil || len(files) == 0 {
			t.Errorf("%q: %v %v", ids, files, err)
		}
		for _, f := range files {
			if f.Root != dir {
				t.Errorf("%q: the root is %s", ids, f.Root)
			}
		}
	}
}
