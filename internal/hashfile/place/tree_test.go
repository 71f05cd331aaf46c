//go:build unix

package place

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/hashline"
)

// visited returns what a walk below a place visits and passes over.
func visited(ctx context.Context, t *testing.T, p *Place, all bool) (paths string, err error) {
	t.Helper()
	opened, sets, err := p.OpenDirectory()
	must(t, err)
	defer opened.Close()
	var found []string
	visit := func(_ *os.Root, rel string, _ fs.DirEntry, _ RuleSets) error {
		found = append(found, rel)
		return nil
	}
	if all {
		err = p.WalkAll(ctx, opened, sets, visit)
	} else {
		err = p.Walk(ctx, opened, sets, visit, func(rel string, _ bool, why string) { found = append(found, rel+"("+why+")") })
	}
	return strings.Join(found, " "), err
}

// TestWalk: a walk leaves out what is forbidden or ignored, by files of the directories above too, and follows no link.
func TestWalk(t *testing.T) {
	d := dir(t)
	write(t, d, ".gitignore", "*.log\n/sub/out\n")
	write(t, d, "AGENTS.md", "---\nforbidden: [key]\nignore: dist\n---\n")
	for _, name := range []string{"a.log", "key", "dist/x", ".git/config", "sub/out/x", "sub/b.log", "sub/key", "sub/z",
		"sub/a/f"} {
		write(t, d, name, "x\n")
	}
	link(t, d, [2]string{"sub/link", ".."})
	sc := allow(t, d)
	const ignored, forbidden = "(ignored by .gitignore)", "(forbidden by AGENTS.md)"
	const below = forbidden + " sub/a sub/a/f sub/b.log" + ignored + " sub/link sub/out" + ignored + " sub/z"
	for path, want := range map[string]string{".": forbidden + " .gitignore AGENTS.md a.log" + ignored + " dist(ignored by AGENTS.md) sub " + below, "sub": below, "sub/a": "sub/a/f"} {
		if got, err := visited(t.Context(), t, at(t, sc, path), false); got != want || err != nil {
			t.Errorf("%s: %s, %v; want %s", path, got, err, want)
		}
	}
	got, err := visited(t.Context(), t, at(t, sc, "sub"), true)
	if want := "sub/a sub/a/f sub/b.log sub/key sub/link sub/out sub/out/x sub/z"; got != want || err != nil {
		t.Errorf("all: %s, %v", got, err)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := visited(canceled, t, at(t, sc, "."), false); got != forbidden || !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %s, %v", got, err)
	}
}

// TestWalkDepth: directories are walked as deep as is allowed; what is deeper is told, or an error where nothing may be
// passed over.
func TestWalkDepth(t *testing.T) {
	d := dir(t)
	sc := allow(t, d)
	for depth, code := range map[int]hashline.Code{maxDepth: "", maxDepth + 1: hashline.TooLarge} {
		write(t, d, strings.Repeat("n/", depth)+"f", "x\n")
		got, err := visited(t.Context(), t, at(t, sc, "."), false)
		if err != nil || strings.Contains(got, "n(directories are nested more than 64 deep)") != (code != "") {
			t.Errorf("%d deep: %s, %v", depth, got, err)
		}
		_, err = visited(t.Context(), t, at(t, sc, "."), true)
		if code == "" && err != nil {
			t.Errorf("%d deep: %v", depth, err)
		} else if code != "" {
			refused(t, "too deep", err, code)
		}
		must(t, os.RemoveAll(filepath.Join(d, "n")))
	}
}

// TestOpenRefused: only a regular file is opened as a file, and only a directory as one.
func TestOpenRefused(t *testing.T) {
	d := dir(t)
	writeAll(t, d, "f", "x\n", "secret", "SECRET\n", "sub/f", "x\n")
	sc := allow(t, d)
	for path, code := range map[string]hashline.Code{".": NotAFile, "sub": NotAFile,
		"none": NotFound, "none/f": NotFound} {
		_, _, err := at(t, sc, path).Open(os.O_RDONLY)
		refused(t, path, err, code)
	}
	for path, code := range map[string]hashline.Code{"f": hashline.Invalid, "none": NotFound} {
		_, _, err := at(t, sc, path).OpenDirectory()
		refused(t, path, err, code)
	}
	// What was a file or a directory when it was resolved, and is a link now, is not followed.
	file, sub := at(t, sc, "f"), at(t, sc, "sub")
	for _, name := range []string{"f", "sub"} {
		must(t, os.Rename(filepath.Join(d, name), filepath.Join(d, name+".was")))
	}
	link(t, d, [2]string{"f", "secret"}, [2]string{"sub", "sub.was"})
	_, _, err := file.Open(os.O_RDONLY)
	refused(t, "a link in place of a file", err, NotAFile)
	_, _, err = sub.OpenDirectory()
	refused(t, "a link in place of a directory", err, IO)
}

// TestCheckUnmoved: what is below a directory that was moved away or replaced is noticed.
func TestCheckUnmoved(t *testing.T) {
	for _, moved := range []string{"root", "root/sub", "root/sub/deep"} {
		for _, again := range []bool{false, true} {
			base := dir(t)
			write(t, base, "root/sub/deep/f", "x\n")
			p := at(t, allow(t, base+"/root"), "sub/deep/f")
			if err := p.CheckUnmoved(); err != nil {
				t.Error(err)
			}
			must(t, os.Rename(filepath.Join(base, moved), filepath.Join(base, "away")))
			if again {
				write(t, base, "root/sub/deep/f", "x\n")
			}
			refused(t, moved, p.CheckUnmoved(), IO)
		}
	}
}

// TestCheckWritable: the allowed directory, what rules protect and what belongs to a repository are not changed.
func TestCheckWritable(t *testing.T) {
	base := dir(t)
	d := filepath.Join(base, "d")
	writeAll(t, d, "AGENTS.md", "---\nread_only: [go.sum, 'vendor/']\n---\n", "bare/HEAD", "ref: refs/heads/main\n",
		"bare/objects/x", "x\n", "bare/refs/x", "x\n", "half/HEAD", "x\n", "half/objects/x", "x\n")
	sc := allow(t, d)
	for _, path := range []string{".", "go.sum", "sub/go.sum", "vendor/new", ".git", ".git/hooks/pre-commit",
		".GIT/config", "sub/.git/config", ".hg/hgrc", "bare/config", "bare/hooks/x", "half/refs", "./x/../.git"} {
		refused(t, path, at(t, sc, path).CheckWritable(), ReadOnly)
	}
	for _, path := range []string{"new", "vendor.go", "half/config", ".github/x", ".gitignore", "go.summary", "refs",
		"HEAD"} {
		if err := at(t, sc, path).CheckWritable(); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	// A directory above the allowed one makes a repository of it.
	writeAll(t, base, "HEAD", "x\n", "objects/x", "x\n", "refs/x", "x\n")
	refused(t, "in a repository", at(t, sc, "new").CheckWritable(), ReadOnly)
	// Git looks no further than the work tree in which the directory lies.
	write(t, d, ".git/HEAD", "x\n")
	if err := at(t, sc, "new").CheckWritable(); err != nil {
		t.Error(err)
	}
}
