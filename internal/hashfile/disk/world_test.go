package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/contents"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/roots"
)

// world is an allowed directory and a writer with its locks.
type world struct {
	t          *testing.T
	dir, locks string
	scope      *roots.Scope
	w          *Writer
	warnings   []string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	d, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	locks := t.TempDir()
	if err := os.Chmod(locks, 0o700); err != nil { // whatever the umask is
		t.Fatal(err)
	}
	return newWorldIn(t, d, locks)
}

// newWorldIn is newWorld in directories.
func newWorldIn(t *testing.T, d, locks string) *world {
	t.Helper()
	source, err := roots.NewSource([]string{d}, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	x := &world{t: t, dir: d, locks: locks, scope: source.Configured()}
	x.w = NewWriter(locks, false, func(message string) { x.warnings = append(x.warnings, message) })
	t.Cleanup(func() { x.scope.Close(); source.Close() })
	return x
}

// at returns the place of a name.
func (x *world) at(name string) *place.Place {
	x.t.Helper()
	p, err := place.ResolveName(x.scope, filepath.Join(x.dir, name))
	if err != nil {
		x.t.Fatal(err)
	}
	x.t.Cleanup(p.Close)
	return p
}

// read returns what the file at a place holds.
func (x *world) read(p *place.Place) contents.Contents {
	x.t.Helper()
	text := readFile(x.t, p.Real())
	info, err := os.Lstat(p.Real())
	if err != nil {
		x.t.Fatal(err)
	}
	return contents.Contents{Data: []byte(text), Hash: digest.FromBytes([]byte(text)), Info: info}
}

// holds demands that the allowed directory holds these files, each as "name=text", and no others.
func (x *world) holds(want ...string) {
	x.t.Helper()
	entries, err := os.ReadDir(x.dir)
	if err != nil {
		x.t.Fatal(err)
	}
	got := []string{}
	for _, e := range entries {
		text, _ := os.ReadFile(filepath.Join(x.dir, e.Name()))
		got = append(got, e.Name()+"="+string(text))
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		x.t.Errorf("the directory holds %q, want %q", got, want)
	}
}

// tidy demands that no note and no file is left in the directory of the locks, except kept ones.
func (x *world) tidy() (kept []string) {
	x.t.Helper()
	entries, err := os.ReadDir(x.locks)
	if err != nil {
		x.t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "kept-") {
			kept = append(kept, readFile(x.t, filepath.Join(x.locks, e.Name())))
		} else if !isSlot(e.Name()) {
			x.t.Errorf("%s is left", e.Name())
		}
	}
	return kept
}

// TestCreate makes new files and replaces none.
func TestCreate(t *testing.T) {
	x := newWorld(t)
	p, again := x.at("new"), x.at("new")
	if err := x.w.Create(p, []byte("a\n")); err != nil {
		t.Fatal(err)
	}
	if err := x.w.Create(again, []byte("b\n")); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
	x.holds("new=a\n")
	x.tidy()
}

// TestReplace replaces a file by longer and shorter ones, and none that is another one by then.
func TestReplace(t *testing.T) {
	x := newWorld(t)
	writeFile(t, x.dir, "f", "a\n")
	for _, text := range []string{"longer\n", "", "b\n"} {
		p := x.at("f")
		if lost, err := x.w.Replace(p, x.read(p), []byte(text)); err != nil || len(lost) > 0 {
			t.Fatal(lost, err)
		}
		x.holds("f=" + text)
	}
	p := x.at("f")
	old := x.read(p)
	writeFile(t, x.dir, "f", "theirs\n")
	if _, err := x.w.Replace(p, old, []byte("ours\n")); !errors.Is(err, ErrReplaced) {
		t.Error(err)
	}
	x.holds("f=theirs\n")
	x.tidy()
}

// TestMove moves files within an allowed directory, over nothing.
func TestMove(t *testing.T) {
	x := newWorld(t)
	writeFile(t, x.dir, "f", "a\n")
	from, to := x.at("f"), x.at("g")
	if err := x.w.Move(from, to); err != nil {
		t.Fatal(err)
	}
	x.holds("g=a\n")
	writeFile(t, x.dir, "f", "b\n")
	if err := x.w.Move(x.at("f"), to); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
	x.holds("f=b\n", "g=a\n")
	x.tidy()
}

// TestMoveAcross moves a file to another allowed directory.
func TestMoveAcross(t *testing.T) {
	x, y := newWorld(t), newWorld(t)
	writeFile(t, x.dir, "f", "a\n")
	if err := x.w.Move(x.at("f"), y.at("g")); err != nil {
		t.Fatal(err)
	}
	x.holds()
	y.holds("g=a\n")
	writeFile(t, x.dir, "f", "b\n")
	if err := x.w.Move(x.at("f"), y.at("g")); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
	x.holds("f=b\n")
	y.holds("g=a\n")
	x.tidy()
}

// TestLockWithoutDirectory locks nothing where there is no directory for locks, and says what to set.
func TestLockWithoutDirectory(t *testing.T) {
	x := newWorldIn(t, newWorld(t).dir, "")
	if _, err := x.w.Lock(t.Context(), x.at("f")); err == nil || !strings.Contains(err.Error(), "HALLMARK_HOME") {
		t.Error(err)
	}
}

// TestNoteIsRead reads every note as it was written, and no part of one.
func TestNoteIsRead(t *testing.T) {
	for _, n := range []note{
		{},
		{Directory: "/a b\n\"c\xff", Held: stamp{1, 2, 3, 4}, Name: "n\x00m", Temp: ".t", Displaces: true,
			Mine: stamp{5, 1 << 63, -7, -8}, Old: stamp{9, 10, 11, 12}, OldHash: "sha256:00"},
	} {
		text := n.text()
		if got, err := parseNote(text); err != nil || got != n {
			t.Errorf("%+v became %+v, %v", n, got, err)
		}
		for cut := range len(text) {
			if got, err := parseNote(text[:cut]); err == nil {
				t.Errorf("%q is read as %+v", text[:cut], got)
			}
		}
		if _, err := parseNote(append(text, 'x')); err == nil {
			t.Error("more than a note is one")
		}
	}
}

// writeFile writes a file of a directory and returns its path.
func writeFile(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
