//go:build unix

package hashfile

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestLocksInRoot: where an allowed directory holds that of the locks, as a home does, nothing in that is written, made
// or moved, nor is a directory on its path, by whatever name: a note there has the next server remove and rename files.
func TestLocksInRoot(t *testing.T) {
	for _, exists := range []bool{true, false} {
		d, other := dir(t), dir(t)
		locks := filepath.Join(d, "state/hashfile")
		made := filepath.Join(d, "state")
		if exists {
			made = locks
		}
		if err := os.MkdirAll(made, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(made, filepath.Join(d, "link")); err != nil {
			t.Fatal(err)
		}
		write(t, d, "file", "text\n")
		write(t, d, "forged/hashfile/00.note", "1\n")
		if exists {
			write(t, d, "state/hashfile/kept-x", "2\n")
		}
		// The directory of the locks is named through a link, which is on its path too.
		through := filepath.Join(other, "through")
		if err := os.Symlink(filepath.Join(d, "state"), through); err != nil {
			t.Fatal(err)
		}
		p, _ := connect(t, Config{Roots: []string{d, other}, Locks: filepath.Join(through, "hashfile")},
			"2025-11-25", nil)
		in := func(name string) string { return filepath.Join(d, name) }
		p.call("create_directory", arguments{"path": locks + "/sub"}).refused("read_only")
		p.call("move_file", arguments{"source": in("state"), "destination": in("old")}).refused("read_only")
		p.call("move_file", arguments{"source": through, "destination": in("old")}).refused("read_only")
		if !exists {
			p.call("create_directory", arguments{"path": locks}).refused("read_only")
			p.call("move_file", arguments{"source": in("forged/hashfile"), "destination": locks}).refused("read_only")
			p.call("write_text_file", arguments{"path": locks, "content": "x\n"}).refused("read_only")
			p.call("move_file", arguments{"source": in("forged/hashfile"), "destination": in("link/hashfile")}).
				refused("read_only")
			p.call("write_text_file", arguments{"path": in("state/other"), "content": "x\n"}).ok()
			continue
		}
		for _, note := range []string{"state/hashfile/00.note", "link/00.note", "state/hashfile/ff"} {
			p.call("write_text_file", arguments{"path": in(note), "content": "x\n"}).refused("read_only")
			p.call("move_file", arguments{"source": in("file"), "destination": in(note)}).refused("read_only")
		}
		note := p.call("read_text_file", arguments{"path": in("link/kept-x")}).ok()
		p.call("edit_text_file", arguments{"path": in("link/kept-x"), "file_hash": note.hash(),
			"operations": ops(replaceOp(note.anchor("2"), "3"))}).refused("read_only")
		mounted, up := in("mounted"), in("up") // other paths of the same directories
		if err := errors.Join(os.Mkdir(mounted, 0o700), os.Mkdir(up, 0o700)); err != nil {
			t.Fatal(err)
		}
		if mount(locks, mounted) == nil {
			t.Cleanup(func() { unmount(mounted) })
			p.call("write_text_file", arguments{"path": mounted + "/00.note", "content": "x\n"}).refused("read_only")
			p.call("create_directory", arguments{"path": mounted + "/sub"}).refused("read_only")
		}
		if mount(d, up) == nil {
			t.Cleanup(func() { unmount(up) })
			p.call("move_file", arguments{"source": up + "/state", "destination": in("old")}).refused("read_only")
		}
		p.call("move_file", arguments{"source": in("state/hashfile/kept-x"), "destination": in("note")}).
			refused("read_only")
		p.call("move_file", arguments{"source": locks, "destination": in("old")}).refused("read_only")
		if got := content(t, in("state/hashfile/kept-x")); got != "2\n" {
			t.Errorf("the note is %q", got)
		}
	}
}

// TestLocksBelowNothing: where the directory of the locks is still to be made, nothing but empty directories takes the
// place of those above it.
func TestLocksBelowNothing(t *testing.T) {
	d := dir(t)
	write(t, d, "forged/hashfile/00.note", "1\n")
	p, _ := connect(t, Config{Roots: []string{d}, Locks: filepath.Join(d, "state/hashfile")}, "2025-11-25", nil)
	state := filepath.Join(d, "state")
	p.call("move_file", arguments{"source": filepath.Join(d, "forged"), "destination": state}).refused("read_only")
	p.call("write_text_file", arguments{"path": state, "content": "x\n"}).refused("read_only")
	p.call("create_directory", arguments{"path": filepath.Join(state, "hashfile/sub")}).refused("read_only")
	p.call("create_directory", arguments{"path": state}).ok()
	p.call("write_text_file", arguments{"path": filepath.Join(d, "file"), "content": "x\n"}).ok()
}
