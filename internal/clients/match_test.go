package clients

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/e2e/hang"
)

// Some clients read the files of a directory at any depth below it: each is found there, with the
// directory that holds the client's own as its root, by a walk and where they are named.
func TestAnyDirectories(t *testing.T) {
	root := t.TempDir()
	touch := func(name string) {
		t.Helper()
		name = filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	var want []string
	for _, at := range []string{".claude/agents/%sa.md", ".github/agents/%sa.md", ".gemini/agents/%sa.md",
		".codex/agents/%sa.toml", ".vibe/agents/%sa.toml",
		".continue/mcpServers/%sa.yaml", ".continue/agents/%sa.yml", ".continue/assistants/%sa.yaml",
		".openhands/microagents/%sa.md"} {
		for _, below := range []string{"", "team/", "team/sub/", strings.Repeat("d/", 30)} {
			name := fmt.Sprintf(at, below)
			touch(name)
			want = append(want, name)
			if got := FileAt(name); got.Client == "" || len(got.shapes) == 0 || got.Root != "." {
				t.Errorf("%s: %+v", name, got)
			}
		}
	}
	slices.Sort(want)
	for _, not := range []string{".claude/a.md", "agents/team/a.md", ".vibe/team/agents/a.toml"} {
		touch(not)
	}
	check := func(how string, files []File) {
		t.Helper()
		var got []string
		for _, f := range files {
			rel, err := filepath.Rel(root, f.Path)
			if err != nil || f.Root != root {
				t.Errorf("%s: %+v, %v", how, f, err)
			}
			got = append(got, filepath.ToSlash(rel))
		}
		slices.Sort(got)
		if got = slices.Compact(got); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", how, got, want)
		}
	}
	files, unread, err := FindBelow(t.Context(), root)
	if err != nil || len(unread) > 0 {
		t.Fatal(unread, err)
	}
	check("below", files)
	if files, err = Find(Machine{OS: "linux", Project: root}); err != nil {
		t.Fatal(err)
	}
	check("find", files)
}

// Links to directories among them are followed in the checkout, also in a circle, and said if
// they lead out of it; and too many directories end neither.
func TestAnyDirectoriesLinked(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links")
	}
	root, outside := t.TempDir(), t.TempDir()
	for _, dir := range []string{".claude", "shared/one/two"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "shared/one/two/a.md"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{".claude/agents": "../shared", "shared/one/round": "..",
		"shared/one/again": "../../shared", "shared/out": outside} {
		if err := os.Symlink(to, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	files, unread, err := FindBelow(t.Context(), root)
	if err != nil || !slices.ContainsFunc(files, func(f File) bool {
		return f.Client == "claude-code" && strings.HasSuffix(f.Path, "agents/one/two/a.md")
	}) {
		t.Errorf("%+v, %v", files, err)
	}
	if !slices.ContainsFunc(unread, func(u Unread) bool {
		return !u.Empty &&
			strings.HasSuffix(u.Path, ".claude/agents/out")
	}) {
		t.Errorf("%+v", unread)
	}
	for i := range maxDeep + 1 {
		if err := os.Mkdir(filepath.Join(root, "shared", fmt.Sprint(i)), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	hang.Ends(t, "a search of more than is looked at", func() { notAll(t, root) })
}

// notAll demands that what is searched below root says that it did not look at all.
func notAll(t *testing.T, root string) {
	if _, unread, err := FindBelow(t.Context(), root); err != nil ||
		!slices.ContainsFunc(unread, func(u Unread) bool { return !u.Empty && strings.Contains(u.Why, "not all") }) {
		t.Errorf("%+v, %v", unread, err)
	}
	if _, err := Find(Machine{OS: "linux", Project: root}); err == nil || !strings.Contains(err.Error(), "not all") {
		t.Errorf("found nevertheless: %v", err)
	}
}
