package engine

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/e2e/memory"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
)

func TestMain(m *testing.M) {
	memory.Leave()
	os.Exit(m.Run())
}

// fileWorld is an allowed directory and a writer with its locks.
type fileWorld struct {
	t          *testing.T
	dir, locks string
	scope      *place.Scope
	w          *writer
}

func newFileWorld(t *testing.T) *fileWorld {
	t.Helper()
	d, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	locks := t.TempDir()
	if err := os.Chmod(locks, 0o700); err != nil { // whatever the umask is
		t.Fatal(err)
	}
	return newFileWorldIn(t, d, locks)
}

// newFileWorldIn is newFileWorld in directories.
func newFileWorldIn(t *testing.T, d, locks string) *fileWorld {
	t.Helper()
	source, err := place.NewSource([]string{d}, time.Second)
	must(t, err)
	x := &fileWorld{t: t, dir: d, locks: locks, scope: source.Configured(), w: newWriter(locks, false)}
	t.Cleanup(func() { x.scope.Close(); source.Close() })
	return x
}

// at returns the place of a name.
func (x *fileWorld) at(name string) *place.Place {
	x.t.Helper()
	p, err := place.ResolveName(x.scope, filepath.Join(x.dir, name))
	must(x.t, err)
	x.t.Cleanup(p.Close)
	return p
}

// read returns what the file at a place holds.
func (x *fileWorld) read(p *place.Place) Contents {
	x.t.Helper()
	text := readFile(x.t, p.Real())
	info, err := os.Lstat(p.Real())
	must(x.t, err)
	return Contents{Data: []byte(text), Hash: digest.FromBytes([]byte(text)), Info: info}
}

// holds demands that the allowed directory holds these files, each as "name=text", and no others.
func (x *fileWorld) holds(want ...string) {
	x.t.Helper()
	entries, err := os.ReadDir(x.dir)
	must(x.t, err)
	got := []string{}
	for _, e := range entries {
		text, _ := os.ReadFile(filepath.Join(x.dir, e.Name()))
		got = append(got, e.Name()+"="+string(text))
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		x.t.Errorf("the directory holds %q, want %q", got, want)
	}
}

// tidy demands that no file is left in the directory of the locks.
func (x *fileWorld) tidy() {
	x.t.Helper()
	if left := x.left(); len(left) > 0 {
		x.t.Errorf("%q is left", left)
	}
}

// left returns what is in the directory of the locks beside them, by name.
func (x *fileWorld) left() map[string]string {
	x.t.Helper()
	entries, err := os.ReadDir(x.locks)
	must(x.t, err)
	left := map[string]string{}
	for _, e := range entries {
		if !isSlot(e.Name()) {
			left[e.Name()] = readFile(x.t, filepath.Join(x.locks, e.Name()))
		}
	}
	return left
}

// TestCreate makes new files and replaces none.
func TestCreate(t *testing.T) {
	x := newFileWorld(t)
	p, again := x.at("new"), x.at("new")
	must(t, x.w.Create(p, []byte("a\n")))
	if err := x.w.Create(again, []byte("b\n")); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
	x.holds("new=a\n")
	x.tidy()
}

// TestReplace replaces a file by longer and shorter ones, and none that is another one by then.
func TestReplace(t *testing.T) {
	x := newFileWorld(t)
	writeFile(t, x.dir, "f", "a\n")
	for _, text := range []string{"longer\n", "", "b\n"} {
		p := x.at("f")
		if lost, err := x.w.Replace(p, x.read(p), []byte(text)); err != nil || len(lost) > 0 {
			t.Fatal(lost, err)
		}
		x.holds("f=" + text)
	}
	x.keepsTheirs()
}

// keepsTheirs tries to replace f, which somebody else has written since it was read.
func (x *fileWorld) keepsTheirs() {
	x.t.Helper()
	p := x.at("f")
	old := x.read(p)
	writeFile(x.t, x.dir, "f", "theirs\n")
	if _, err := x.w.Replace(p, old, []byte("ours\n")); !errors.Is(err, errReplaced) {
		x.t.Error(err)
	}
	x.holds("f=theirs\n")
	x.tidy()
}

// TestMove moves files within an allowed directory, over nothing.
func TestMove(t *testing.T) {
	x := newFileWorld(t)
	writeFile(t, x.dir, "f", "a\n")
	from, to := x.at("f"), x.at("g")
	must(t, x.w.Move(from, to))
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
	x, y := newFileWorld(t), newFileWorld(t)
	must(t, os.Chmod(writeFile(t, x.dir, "f", "a\n"), 0o640))
	must(t, x.w.Move(x.at("f"), y.at("g")))
	x.holds()
	y.holds("g=a\n")
	if st, err := os.Stat(filepath.Join(y.dir, "g")); err != nil || st.Mode().Perm() != 0o640 {
		t.Errorf("%v, %v", st, err)
	}
	writeFile(t, x.dir, "f", "b\n")
	if err := x.w.Move(x.at("f"), y.at("g")); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
	x.holds("f=b\n")
	y.holds("g=a\n")
	x.tidy()
}

// TestLockRefused: where the directory for locks cannot be used, nothing is locked, and the refusal names the directory,
// the reason and what to set.
func TestLockRefused(t *testing.T) {
	d := t.TempDir()
	file := writeFile(t, d, "file", "")
	shut := filepath.Join(d, "shut")
	must(t, os.Mkdir(shut, 0o700))
	for what, c := range map[string]struct{ locks, reason string }{
		"none":               {"", "no directory for its locks"},
		"a file":             {file, "cannot be made: "},
		"below a file":       {filepath.Join(file, "state", "hashfile"), "cannot be made: "},
		"a lock that is not": {shut, "is not a regular file"},
	} {
		t.Run(what, func(t *testing.T) {
			x := newFileWorldIn(t, newFileWorld(t).dir, c.locks)
			p := x.at("f")
			if c.locks == shut {
				must(t, os.Mkdir(filepath.Join(shut, slotOf(p.Real())), 0o700))
			}
			_, err := x.w.Lock(t.Context(), p)
			for _, want := range []string{c.locks, c.reason, "HALLMARK_HOME"} {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%v does not say %q", err, want)
				}
			}
		})
	}
}

// writeFile writes a file of a directory and returns its path.
func writeFile(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	must(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	return string(text)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
