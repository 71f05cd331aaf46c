package disk

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
)

// killed is a replacement of f that a kill stopped.
type killed struct {
	temp *place.Place
	p    *place.Place
}

// kill replaces f by "ours" up to one of its steps, and leaves what a kill would leave then. Beside has the temporary
// name beside f, as if the locks were on another mount. Foreign is what somebody else does between the reading of f
// and the exchange.
func (x *world) kill(step string, beside bool, foreign func()) killed {
	t := x.t
	t.Helper()
	p := x.at("f")
	old := x.read(p)
	d, err := x.w.newDraft(p, 0o600, func(f *os.File) error { _, err := f.WriteString("ours\n"); return err })
	must(t, err)
	defer d.Close()
	info, err := d.Stat()
	must(t, err)
	n, err := notePlace(p)
	must(t, err)
	n.Displaces, n.Mine, n.Old, n.OldHash = true, stampOf(info), stampOf(old.Info), old.Hash.String()
	locks, err := os.OpenRoot(x.locks)
	must(t, err)
	t.Cleanup(func() { locks.Close() })
	temp := place.In(locks, slotOf(p.Real())+tempSuffix, nil)
	if beside {
		temp = p.Sibling(tempName(p.Name))
		n.Temp = temp.Name
	}
	_, err = x.w.begin(p, temp, n)
	must(t, err)
	if step == "noted" {
		return killed{temp, p}
	}
	must(t, linkUnnamed(d.File, temp))
	if step == "linked" {
		return killed{temp, p}
	}
	foreign()
	must(t, exchange(temp, p))
	return killed{temp, p}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestRecover ends replacements that were killed at each step: nothing of ours is left, and nothing of others is lost.
func TestRecover(t *testing.T) {
	for _, c := range []struct {
		what, step    string
		before, after func(x *world) // the exchange; the kill
		want          string         // what f holds; "none" if there is no f
		kept          string         // what is kept
	}{
		{"noted", "noted", nil, nil, "old\n", ""},
		{"linked", "linked", nil, nil, "old\n", ""},
		{"exchanged", "exchanged", nil, nil, "ours\n", ""},
		{"then written again", "exchanged", nil,
			func(x *world) { writeFile(x.t, x.dir, "f", "later\n") }, "later\n", ""},
		{"then removed", "exchanged", nil, func(x *world) { os.Remove(filepath.Join(x.dir, "f")) }, "none", ""},
		{"renamed over", "exchanged", func(x *world) { x.renameOver("theirs\n") }, nil, "theirs\n", ""},
		{"written in place", "exchanged", func(x *world) { writeFile(x.t, x.dir, "f", "theirs\n") }, nil,
			"theirs\n", ""},
		{"renamed over and removed", "exchanged", func(x *world) { x.renameOver("theirs\n") },
			func(x *world) { os.Remove(filepath.Join(x.dir, "f")) }, "theirs\n", ""},
		{"renamed over twice", "exchanged", func(x *world) { x.renameOver("theirs\n") },
			func(x *world) { x.renameOver("later\n") }, "later\n", "theirs\n"},
		{"renamed over, ours written", "exchanged", func(x *world) { x.renameOver("theirs\n") },
			func(x *world) { writeFile(x.t, x.dir, "f", "ours and theirs\n") }, "ours and theirs\n", "theirs\n"},
	} {
		for _, beside := range []bool{false, true} {
			for _, by := range []string{"start", "lock"} {
				name := c.what + " " + by
				if beside {
					name += " beside"
				}
				t.Run(name, func(t *testing.T) {
					x := newWorld(t)
					writeFile(t, x.dir, "f", "old\n")
					x.kill(c.step, beside, func() {
						if c.before != nil {
							c.before(x)
						}
					})
					if c.after != nil {
						c.after(x)
					}
					x.end(by)
					if c.want == "none" {
						x.holds()
					} else {
						x.holds("f=" + c.want)
					}
					kept := strings.Join(x.tidy(), "")
					if kept != c.kept || (c.kept != "") != (len(x.warnings) > 0) {
						t.Errorf("kept is %q, and it says %q", kept, x.warnings)
					}
				})
			}
		}
	}
}

// end lets a new server start, or a call take the lock of f.
func (x *world) end(by string) {
	x.t.Helper()
	if by == "start" {
		x.w.Recover()
		return
	}
	unlock, err := x.w.Lock(x.t.Context(), x.at("f"))
	must(x.t, err)
	unlock()
}

// renameOver puts another file in the place of f.
func (x *world) renameOver(text string) {
	must(x.t, os.Rename(writeFile(x.t, x.t.TempDir(), "other", text), filepath.Join(x.dir, "f")))
}

// TestRecoverSpares ends nothing that a server which lives has begun, nor what is not as the note says.
func TestRecoverSpares(t *testing.T) {
	t.Run("held", func(t *testing.T) {
		x := newWorld(t)
		writeFile(t, x.dir, "f", "old\n")
		k := x.kill("exchanged", false, func() {})
		unlock, err := durable.Lock(t.Context(), filepath.Join(x.locks, slotOf(k.p.Real())), "the test")
		must(t, err)
		x.w.Recover()
		if _, err := k.temp.Parent().Lstat(k.temp.Name); err != nil {
			t.Error(err)
		}
		unlock()
		x.w.Recover()
		x.holds("f=ours\n")
		x.tidy()
	})
	t.Run("another directory", func(t *testing.T) {
		x := newWorld(t)
		writeFile(t, x.dir, "f", "old\n")
		k := x.kill("linked", true, func() {})
		must(t, os.Rename(x.dir, x.dir+".old"))
		must(t, os.Mkdir(x.dir, 0o700))
		writeFile(t, x.dir, k.temp.Name, "of somebody else\n")
		x.w.Recover()
		x.holds(k.temp.Name + "=of somebody else\n")
		x.tidy()
	})
	t.Run("directory gone", func(t *testing.T) {
		x := newWorld(t)
		writeFile(t, x.dir, "f", "old\n")
		x.kill("exchanged", false, func() { x.renameOver("theirs\n") })
		must(t, os.RemoveAll(x.dir))
		x.w.Recover()
		if kept := x.tidy(); len(kept) != 1 || kept[0] != "theirs\n" || len(x.warnings) != 1 {
			t.Errorf("%q, %q", kept, x.warnings)
		}
	})
	t.Run("half a note", func(t *testing.T) {
		x := newWorld(t)
		writeFile(t, x.dir, "f", "old\n")
		k := x.kill("exchanged", false, func() { x.renameOver("theirs\n") })
		must(t, os.Truncate(filepath.Join(x.locks, slotOf(k.p.Real())+noteSuffix), 0))
		x.w.Recover()
		x.holds("f=ours\n")
		if kept := x.tidy(); len(kept) != 1 || kept[0] != "theirs\n" {
			t.Errorf("%q, %q", kept, x.warnings)
		}
	})
}

// TestForgedNotes: notes that no call would write are not done: nothing is removed, renamed or made, and what stands in
// the file of the lock is kept.
func TestForgedNotes(t *testing.T) {
	for what, forge := range map[string]func(n *note){
		"name above":          func(n *note) { n.Name = "../made" },
		"name below":          func(n *note) { n.Name = "sub/made" },
		"name of a directory": func(n *note) { n.Name = ".." },
		"no name":             func(n *note) { n.Name = "" },
		"another lock's":      func(n *note) { n.Name = "f2" },
		"relative directory":  func(n *note) { n.Directory = "." },
		"unclean directory":   func(n *note) { n.Directory += "/." },
		"another's file":      func(n *note) { n.Temp = "victim" },
		"a file below":        func(n *note) { n.Temp = ".f./" + strings.Repeat("A", 10) + ".tmp" },
		"another's temporary": func(n *note) { n.Temp = ".g.ABCDEFGHIJKL.tmp" },
	} {
		for _, displaces := range []bool{false, true} {
			t.Run(what, func(t *testing.T) {
				x := newWorld(t)
				p := x.at("f")
				slot := slotOf(p.Real())
				n, err := notePlace(p)
				must(t, err)
				n.Displaces = displaces
				forge(&n)
				if strings.Contains(what, "name") { // so that only the name is wrong
					slot = slotOf(filepath.Join(n.Directory, n.Name))
				}
				victim := "victim"
				if n.Temp != "" && filepath.Base(n.Temp) == n.Temp {
					victim = n.Temp
				}
				writeFile(t, x.dir, victim, "victim\n")
				n.Old, n.OldHash = stamp{}, digest.FromBytes([]byte("victim\n")).String()
				must(t, os.WriteFile(filepath.Join(x.locks, slot+noteSuffix), n.text(), 0o600))
				writeFile(t, x.locks, slot+tempSuffix, "theirs\n")
				x.w.Recover()
				x.holds(victim + "=victim\n")
				if kept := x.tidy(); len(kept) != 1 || kept[0] != "theirs\n" {
					t.Errorf("kept are %q, and it says %q", kept, x.warnings)
				}
				if _, err := os.Lstat(filepath.Join(x.dir, "../made")); err == nil {
					t.Error("a file was made above")
				}
			})
		}
	}
}

// TestRecoverFails: while what a kill left cannot be put away, its lock is not given, and it stays with its note.
func TestRecoverFails(t *testing.T) {
	x := newWorld(t)
	writeFile(t, x.dir, "f", "old\n")
	x.kill("exchanged", false, func() { x.renameOver("theirs\n") })
	writeFile(t, x.dir, "f", "later\n")
	rename := renameat2
	t.Cleanup(func() { renameat2 = rename })
	renameat2 = func(int, string, int, string, uint) error { return unix.EIO }
	for range 2 {
		if _, err := x.w.Lock(t.Context(), x.at("f")); err == nil || !strings.Contains(err.Error(), "killed") {
			t.Fatal(err)
		}
	}
	x.w.Recover()
	renameat2 = rename
	x.end("lock")
	x.holds("f=later\n")
	if kept := x.tidy(); len(kept) != 1 || kept[0] != "theirs\n" {
		t.Errorf("%q", kept)
	}
}

// TestOrphan keeps what stands in the file of a lock without a note, which would be in the way of every later change.
func TestOrphan(t *testing.T) {
	x := newWorld(t)
	writeFile(t, x.dir, "f", "old\n")
	p := x.at("f")
	writeFile(t, x.locks, slotOf(p.Real())+tempSuffix, "theirs\n")
	x.end("lock")
	_, err := x.w.Replace(p, x.read(p), []byte("ours\n"))
	must(t, err)
	x.holds("f=ours\n")
	if kept := x.tidy(); len(kept) != 1 || kept[0] != "theirs\n" {
		t.Errorf("%q", kept)
	}
}

// TestStrangeNote: a note that is none, as a pipe or a directory, does not stop a server.
func TestStrangeNote(t *testing.T) {
	for what, make := range map[string]func(path string) error{
		"pipe":      func(path string) error { return unix.Mkfifo(path, 0o600) },
		"directory": func(path string) error { return os.Mkdir(path, 0o700) },
		"link":      func(path string) error { return os.Symlink("/dev/zero", path) },
		"large":     func(path string) error { return os.WriteFile(path, bytes.Repeat([]byte("1 "), maxNote), 0o600) },
	} {
		t.Run(what, func(t *testing.T) {
			x := newWorld(t)
			writeFile(t, x.dir, "f", "old\n")
			must(t, make(filepath.Join(x.locks, slotOf(x.at("f").Real())+noteSuffix)))
			x.w.Recover()
			x.end("lock")
			x.holds("f=old\n")
			x.tidy()
		})
	}
}

// TestLocksOfOthers: where others can write in the directory of the locks, no note is done and no lock is taken.
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
			x := newWorld(t)
			writeFile(t, x.dir, "f", "old\n")
			x.kill("exchanged", false, func() { x.renameOver("theirs\n") })
			must(t, change(x.locks))
			x.w.Recover()
			x.holds("f=ours\n")
			if len(x.warnings) != 1 || !strings.Contains(x.warnings[0], x.locks) {
				t.Errorf("it says %q", x.warnings)
			}
			if _, err := x.w.Lock(t.Context(), x.at("f")); err == nil || strings.Contains(err.Error(), x.locks) {
				t.Error(err)
			}
		})
	}
}

// TestRecoverRemoval ends a move to another allowed directory that was killed between the renaming of the original and
// its removal: it is gone if it is what was copied, and has its name again if not.
func TestRecoverRemoval(t *testing.T) {
	for _, text := range []string{"copied\n", "changed\n"} {
		for _, beside := range []bool{false, true} {
			x := newWorld(t)
			writeFile(t, x.dir, "f", "copied\n")
			p := x.at("f")
			old := x.read(p)
			n, err := notePlace(p)
			must(t, err)
			n.Displaces, n.Old, n.OldHash = true, stampOf(old.Info), old.Hash.String()
			taken := p.Sibling(tempName(p.Name))
			if beside {
				n.Temp = taken.Name
			} else {
				locks, err := os.OpenRoot(x.locks)
				must(t, err)
				defer locks.Close()
				taken = place.In(locks, slotOf(p.Real())+tempSuffix, nil)
			}
			_, err = x.w.begin(p, taken, n)
			must(t, err)
			writeFile(t, x.dir, "f", text)
			must(t, renameNew(p, taken))
			x.w.Recover()
			if text == "copied\n" {
				x.holds()
			} else {
				x.holds("f=" + text)
			}
			x.tidy()
		}
	}
}
