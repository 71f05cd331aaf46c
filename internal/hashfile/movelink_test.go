//go:build unix

package hashfile

import (
	"os"
	"path/filepath"
	"testing"
)

// link makes a symbolic link in a directory and returns its path.
func link(t *testing.T, dir, name, target string) string {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
	must(t, os.Symlink(target, filepath.Join(dir, name)))
	return filepath.Join(dir, name)
}

// leads demands that a path is a link with a target, or nothing if target is "".
func leads(t *testing.T, path, target string) {
	t.Helper()
	if got, _ := os.Readlink(path); got != target {
		t.Errorf("%s leads to %q, want %q", path, got, target)
	}
}

// TestMoveLink moves links themselves: what they lead to stays, whether there is anything or not.
func TestMoveLink(t *testing.T) {
	for what, target := range map[string]string{"file": "f", "directory": "sub", "nothing": "none", "absolute": ""} {
		t.Run(what, func(t *testing.T) {
			d := dir(t)
			file := write(t, d, "f", "kept\n")
			write(t, d, "sub/g", "kept too\n")
			if what == "absolute" {
				target = file
			}
			from, to := link(t, d, "link", target), filepath.Join(d, "sub", "moved")
			p := serve(t, d)
			p.move(from, to).ok()
			leads(t, from, "")
			leads(t, to, target)
			if _, err := os.Lstat(from); err == nil {
				t.Error("the link is still there")
			}
			if content(t, file) != "kept\n" || content(t, filepath.Join(d, "sub/g")) != "kept too\n" {
				t.Error("what it led to is changed")
			}
		})
	}
}

// TestMoveLinkRefused moves no link to or from where nothing is moved, none that leads where the server does not write,
// and nothing over a link.
func TestMoveLinkRefused(t *testing.T) {
	d, other, outside := dir(t), dir(t), dir(t)
	secret := write(t, outside, "secret", "SECRET\n")
	writeAll(t, d, "AGENTS.md", "---\nforbidden: [hidden/**]\nread_only: [fixed/**]\n---\n", "f", "x\n",
		"fixed/f", "x\n", "hidden/f", "x\n", ".git/config", "x\n")
	p := serve(t, d, other)
	plain := link(t, d, "plain", "f")
	for _, x := range []struct{ from, to, code string }{
		{link(t, d, "out", secret), d + "/new", "outside_roots"},
		{link(t, d, "up", "../../nothing"), d + "/new", "outside_roots"},
		{link(t, d, "repository", ".git/config"), d + "/new", "read_only"},
		{link(t, d, "hiding", "hidden/f"), d + "/new", "forbidden"},
		{link(t, d, "fixed/link", "f"), d + "/new", "read_only"},
		{link(t, d, "hidden/link", "f"), d + "/new", "forbidden"},
		{plain, d + "/fixed/new", "read_only"},
		{plain, d + "/hidden/new", "forbidden"},
		{plain, d + "/.git/new", "read_only"},
		{plain, outside + "/new", "outside_roots"},
		{plain, other + "/new", "invalid"}, // another allowed directory
		{d + "/f", plain, "exists"},
		{d + "/f", link(t, d, "dangling", "none"), "exists"},
		{plain, d + "/f", "exists"},
		{link(t, d, "round", "round"), d + "/new", "not_found"},
	} {
		before := state(t, d)
		p.move(x.from, x.to).refused(x.code)
		if moved := changed(before, state(t, d)); len(moved) > 0 {
			t.Errorf("%s to %s: %q", x.from, x.to, moved)
		}
	}
	if _, err := os.Lstat(filepath.Join(d, "none")); err == nil {
		t.Error("a file was moved to where a link leads")
	}
}

// TestMoveLinkOfRoot moves no link that the path of an allowed directory goes through, nor a directory with one.
func TestMoveLinkOfRoot(t *testing.T) {
	d := dir(t)
	write(t, d, "real/f", "x\n")
	write(t, d, "top/sub/g", "x\n")
	second := link(t, d, "top/sub/second", filepath.Join(d, "real"))
	first := link(t, d, "first", second)
	p := serve(t, first, filepath.Join(d, "top"), d)
	for _, from := range []string{first, second, filepath.Join(d, "top/sub"), filepath.Join(d, "real")} {
		p.move(from, filepath.Join(d, "new")).refused("read_only")
	}
	leads(t, first, second)
	leads(t, second, filepath.Join(d, "real"))
}
