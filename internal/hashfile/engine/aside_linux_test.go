package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
)

// kill replaces f by "ours" up to one of its steps, and leaves what a kill would leave then. Foreign is what somebody
// else does between the reading of f and the exchange.
func (x *fileWorld) kill(step string, foreign func(x *fileWorld)) {
	t := x.t
	t.Helper()
	p := x.at("f")
	d, err := x.w.newDraft(p, 0o600, func(f *os.File) error { _, err := f.WriteString("ours\n"); return err })
	must(t, err)
	defer d.Close()
	if step == "written" {
		return
	}
	temp, release, err := x.w.setAside(p, func(temp *place.Place) error { return linkUnnamed(d.File, temp) })
	must(t, err)
	defer release()
	if step == "linked" {
		return
	}
	if foreign != nil {
		foreign(x)
	}
	must(t, exchange(p, temp))
}

// renameOver puts another file in the place of f.
func (x *fileWorld) renameOver(text string) {
	must(x.t, os.Rename(writeFile(x.t, x.t.TempDir(), "other", text), filepath.Join(x.dir, "f")))
}

// TestLeftovers: whenever a replacement is killed, f is whole, what lost its name is in the directory of the locks, and
// the next server says so, and changes nothing.
func TestLeftovers(t *testing.T) {
	for _, c := range []struct {
		what, step string
		foreign    func(x *fileWorld)
		want, kept string // what f holds, and what is kept
	}{
		{"written", "written", nil, "old\n", ""},
		{"linked", "linked", nil, "old\n", "ours\n"},
		{"exchanged", "exchanged", nil, "ours\n", "old\n"},
		{"renamed over", "exchanged", func(x *fileWorld) { x.renameOver("theirs\n") }, "ours\n", "theirs\n"},
		{"written in place", "exchanged", func(x *fileWorld) { writeFile(x.t, x.dir, "f", "theirs\n") }, "ours\n", "theirs\n"},
	} {
		t.Run(c.what, func(t *testing.T) {
			x := newFileWorld(t)
			writeFile(t, x.dir, "f", "old\n")
			x.kill(c.step, c.foreign)
			for range 2 { // it is said until somebody deletes it
				said := x.w.Leftovers()
				x.holds("f=" + c.want)
				if len(said) != len(x.left()) || (c.kept != "") != (len(said) == 1) {
					t.Fatalf("it says %q of %q", said, x.left())
				}
				for name, text := range x.left() {
					if text != c.kept || !strings.Contains(said[0], "a file named f;") ||
						!strings.Contains(said[0], filepath.Join(x.locks, name)) {
						t.Errorf("%s holds %q; it says %q", name, text, said)
					}
				}
			}
			p := x.at("f")
			unlock, err := x.w.Lock(t.Context(), p)
			must(t, err)
			defer unlock()
			_, err = x.w.Replace(p, x.read(p), []byte("later\n"))
			must(t, err)
			x.holds("f=later\n")
		})
	}
}

// TestLeftoversOfLiving: a file whose lock is held is in use, and names that no server gives are none of ours.
func TestLeftoversOfLiving(t *testing.T) {
	x := newFileWorld(t)
	writeFile(t, x.dir, "f", "old\n")
	x.kill("exchanged", nil)
	slot := slotOf(x.at("f").Real())
	for _, name := range []string{"zz.ABCDEFGHIJKL.f", "00.ABC.f", "00.ABCDEFGHIJKL.", "00.ABCDEFGHIJKL",
		"kept-ABCDEFGHIJKL"} {
		writeFile(t, x.locks, name, "")
	}
	unlock, err := durable.Lock(t.Context(), filepath.Join(x.locks, slot), "the test")
	must(t, err)
	if said := x.w.Leftovers(); len(said) > 0 {
		t.Errorf("%q", said)
	}
	unlock()
	if said := x.w.Leftovers(); len(said) != 1 {
		t.Errorf("%q", said)
	}
}

// TestLeftoversBounded: of many files a few are named.
func TestLeftoversBounded(t *testing.T) {
	x := newFileWorld(t)
	for i := range 100 {
		writeFile(t, x.locks, fmt.Sprintf("00.ABCDEFGHIJKL.f\x1b%d", i), "")
	}
	said := x.w.Leftovers()
	if len(said) != maxLeftovers+1 || !strings.Contains(said[maxLeftovers], "more files in "+x.locks) ||
		strings.Contains(strings.Join(said, ""), "\x1b") {
		t.Errorf("%q", said)
	}
}

// TestKeptName: the name in the directory of the locks tells the lock and the file, and fits.
func TestKeptName(t *testing.T) {
	x := newFileWorld(t)
	for _, name := range []string{"a", ".b", "c.d.e", "f g", strings.Repeat("é", 127)} {
		p := x.at(name)
		slot, file, ok := parseKept(keptName(p))
		if !ok || slot != slotOf(p.Real()) || !strings.HasPrefix(name, file) || len(file) < min(len(name), 199) {
			t.Errorf("%q: %q, %q, %t", name, slot, file, ok)
		}
		must(t, os.WriteFile(filepath.Join(x.locks, keptName(p)), nil, 0o600))
		must(t, os.WriteFile(filepath.Join(x.dir, beside(p).Name), nil, 0o600))
	}
}

// beforeRename has something done before each renaming, which is given its number from 1 and the name that is renamed,
// and fails with the error if there is one.
func beforeRename(t *testing.T, do func(n int, name string) error) {
	rename, n := renameat2, 0
	t.Cleanup(func() { renameat2 = rename })
	renameat2 = func(a int, from string, b int, to string, flags uint) error {
		n++
		if err := do(n, from); err != nil {
			return err
		}
		return rename(a, from, b, to, flags)
	}
}

// keeps demands that one file is kept in the directory of the locks, and that an error says why, and where.
func (x *fileWorld) keeps(text string, err error, why string) {
	x.t.Helper()
	left := x.left()
	for name, got := range left {
		if got != text || err == nil || !strings.Contains(err.Error(), why) ||
			!strings.Contains(err.Error(), filepath.Join(x.locks, name)) {
			x.t.Errorf("%q is kept; %v", got, err)
		}
	}
	if len(left) != 1 {
		x.t.Errorf("%q", left)
	}
}

// TestReplacedTwice: what somebody made of our file before it could be taken back has the name in the end, and what we
// had displaced is kept. Nothing is removed but what is ours.
func TestReplacedTwice(t *testing.T) {
	x := newFileWorld(t)
	writeFile(t, x.dir, "f", "old\n")
	p := x.at("f")
	old := x.read(p)
	beforeRename(t, func(n int, _ string) error {
		switch n {
		case 1:
			writeFile(t, x.dir, "f", "theirs\n")
		case 2:
			x.renameOver("ours, and more of theirs\n")
		}
		return nil
	})
	_, err := x.w.Replace(p, old, []byte("ours\n"))
	x.holds("f=ours, and more of theirs\n")
	x.keeps("theirs\n", err, "")
}

// TestNotGivenBack: what somebody else wrote and cannot get its name back is kept, and the error says where.
func TestNotGivenBack(t *testing.T) {
	x := newFileWorld(t)
	writeFile(t, x.dir, "f", "old\n")
	p := x.at("f")
	old := x.read(p)
	beforeRename(t, func(n int, _ string) error {
		if n > 1 {
			return unix.EPERM
		}
		writeFile(t, x.dir, "f", "theirs\n")
		return nil
	})
	_, err := x.w.Replace(p, old, []byte("ours\n"))
	x.holds("f=ours\n")
	x.keeps("theirs\n", err, errReplaced.Error())
}

// TestRemovalKept: a file that is changed while it is moved to another allowed directory gets its name back; if another
// one has that by then, it is kept, and the error says where.
func TestRemovalKept(t *testing.T) {
	for _, again := range []bool{false, true} {
		x, y := newFileWorld(t), newFileWorld(t)
		writeFile(t, x.dir, "f", "copied\n")
		from, to := x.at("f"), y.at("f")
		rename, once := renameat2, false
		t.Cleanup(func() { renameat2 = rename })
		renameat2 = func(a int, name string, b int, other string, flags uint) error {
			first := name == "f" && !once
			if first {
				once = true
				writeFile(t, x.dir, "f", "changed\n")
			}
			err := rename(a, name, b, other, flags)
			if first && again {
				writeFile(t, x.dir, "f", "third\n")
			}
			return err
		}
		err := x.w.Move(from, to)
		renameat2 = rename
		const why = "was changed while it was moved"
		if err == nil || !strings.Contains(err.Error(), why) {
			t.Error(err)
		}
		y.holds("f=copied\n")
		if !again {
			x.holds("f=changed\n")
			x.tidy()
			continue
		}
		x.holds("f=third\n")
		x.keeps("changed\n", err, why)
		for name := range x.left() {
			if said := strings.Join(x.w.Leftovers(), "\n"); !strings.Contains(said, filepath.Join(x.locks, name)) {
				t.Errorf("it says %q", said)
			}
		}
	}
}

// TestLocksOfOthers: where others can write in the directory of the locks, no lock is taken, and nothing that is there
// is spoken of.
func TestLocksOfOthers(t *testing.T) {
	for what, change := range map[string]func(path string) error{
		"group":         func(path string) error { return os.Chmod(path, 0o770) },
		"everybody":     func(path string) error { return os.Chmod(path, 0o1777) },
		"another owner": func(path string) error { return os.Chown(path, 65534, 65534) },
	} {
		t.Run(what, func(t *testing.T) {
			if what == "another owner" && os.Getuid() != 0 {
				return // only root gives a directory away
			}
			x := newFileWorld(t)
			writeFile(t, x.dir, "f", "old\n")
			x.kill("exchanged", nil)
			must(t, change(x.locks))
			if said := x.w.Leftovers(); len(said) > 0 {
				t.Errorf("it says %q", said)
			}
			_, err := x.w.Lock(t.Context(), x.at("f"))
			for _, want := range []string{x.locks, "others may write there", "HALLMARK_HOME"} {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%v does not say %q", err, want)
				}
			}
		})
	}
}
