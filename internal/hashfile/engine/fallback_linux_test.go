package engine

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// lesser are systems that can less than the usual one. Each puts itself in the place of that, and undo goes back.
var lesser = map[string]func(){
	"usual":              func() {},
	"no unnamed files":   func() { openUnnamed = noUnnamed },
	"no exchange":        func() { renameat2 = onlyPlain(unix.EINVAL) },
	"old kernel":         func() { renameat2 = onlyPlain(unix.ENOSYS) },
	"neither":            func() { openUnnamed = noUnnamed; renameat2 = onlyPlain(unix.EINVAL) },
	"locks on a mount":   func() {},
	"neither on a mount": func() { openUnnamed = noUnnamed; renameat2 = onlyPlain(unix.EINVAL) },
}

func noUnnamed(*os.Root, fs.FileMode) (*os.File, error) { return nil, errors.ErrUnsupported }

// onlyPlain is renameat2 of a system that knows no flags.
func onlyPlain(err error) func(int, string, int, string, uint) error {
	return func(a int, from string, b int, to string, flags uint) error {
		if flags != 0 {
			return err
		}
		return unix.Renameat(a, from, b, to)
	}
}

// lessen puts a lesser system in the place of the usual one until the test ends, and returns a world in it.
func lessen(t *testing.T, name string) *fileWorld {
	t.Helper()
	rename, open := renameat2, openUnnamed
	t.Cleanup(func() { renameat2, openUnnamed = rename, open })
	lesser[name]()
	x := newFileWorld(t)
	if strings.HasSuffix(name, "on a mount") {
		return newFileWorldIn(t, x.dir, shm(t))
	}
	return x
}

// shm returns a directory on another mount than that of temporary directories.
func shm(t *testing.T) string {
	t.Helper()
	d, err := os.MkdirTemp("/dev/shm", "disk")
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { os.RemoveAll(d) })
	return d
}

// TestLesserSystems creates, replaces and moves where the system can less, and leaves nothing beside.
func TestLesserSystems(t *testing.T) {
	for name := range lesser {
		t.Run(name, func(t *testing.T) {
			x := lessen(t, name)
			must(t, x.w.Create(x.at("f"), []byte("a\n")))
			if err := x.w.Create(x.at("f"), []byte("b\n")); !errors.Is(err, fs.ErrExist) {
				t.Error(err)
			}
			must(t, os.Chmod(filepath.Join(x.dir, "f"), 0o754))
			p := x.at("f")
			if lost, err := x.w.Replace(p, x.read(p), []byte("b\n")); err != nil || len(lost) > 0 {
				t.Fatal(lost, err)
			}
			x.holds("f=b\n")
			if st, err := os.Stat(p.Real()); err != nil || st.Mode().Perm() != 0o754 {
				t.Errorf("%v, %v", st.Mode(), err)
			}
			old := x.read(p)
			writeFile(t, x.dir, "f", "theirs\n")
			if _, err := x.w.Replace(x.at("f"), old, []byte("ours\n")); !errors.Is(err, errReplaced) {
				t.Error(err)
			}
			x.holds("f=theirs\n")
			must(t, x.w.Move(x.at("f"), x.at("g")))
			x.holds("g=theirs\n")
			y := newFileWorld(t)
			must(t, x.w.Move(x.at("g"), y.at("g")))
			x.holds()
			y.holds("g=theirs\n")
			x.tidy()
		})
	}
}

// TestMounted: a file on which another one is mounted, as containers do, or which is of another quota, cannot be
// replaced. It is written in place, and that is said.
func TestMounted(t *testing.T) {
	for _, refused := range []error{unix.EBUSY, unix.EXDEV, unix.EPERM, nil} {
		for _, name := range []string{"usual", "no unnamed files", "old kernel", "locks on a mount"} {
			t.Run(fmt.Sprint(refused, " ", name), func(t *testing.T) {
				x := lessen(t, name)
				path := writeFile(t, x.dir, "f", "a\n")
				if refused == nil {
					x.mountOver(path)
				} else {
					rename := renameat2
					renameat2 = func(a int, from string, b int, to string, flags uint) error {
						if err := rename(-1, from, b, to, flags); errors.Is(err, unix.ENOSYS) {
							return err
						}
						return refused
					}
				}
				p := x.at("f")
				lost, err := x.w.Replace(p, x.read(p), []byte("longer\n"))
				if err != nil || len(lost) != 1 || !strings.HasPrefix(lost[0], "not atomic: ") {
					t.Errorf("%q, %v", lost, err)
				}
				x.holds("f=longer\n")
				x.keepsTheirs()
			})
		}
	}
}

// TestMountedOnReadOnly: a container may have a file mounted where nothing else can be written.
func TestMountedOnReadOnly(t *testing.T) {
	d, other := t.TempDir(), t.TempDir()
	if err := unix.Mount("tmpfs", d, "tmpfs", 0, "size=64k"); err != nil {
		t.Skip("needs the right to mount: ", err)
	}
	t.Cleanup(func() { unix.Unmount(d, unix.MNT_DETACH) })
	path := writeFile(t, d, "f", "")
	must(t, unix.Mount(writeFile(t, other, "f", "a\n"), path, "", unix.MS_BIND, ""))
	t.Cleanup(func() { unix.Unmount(path, unix.MNT_DETACH) })
	must(t, unix.Mount("", d, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	x := newFileWorldIn(t, d, newFileWorld(t).locks)
	p := x.at("f")
	lost, err := x.w.Replace(p, x.read(p), []byte("b\n"))
	if err != nil || len(lost) != 1 || !strings.HasPrefix(lost[0], "not atomic: ") {
		t.Errorf("%q, %v", lost, err)
	}
	x.holds("f=b\n")
	x.tidy()
	if err := x.w.Create(x.at("new"), []byte("b\n")); !errors.Is(err, unix.EROFS) {
		t.Error(err)
	}
}

// mountOver mounts a file over itself, as a container's single files are; only root can.
func (x *fileWorld) mountOver(path string) {
	x.t.Helper()
	if err := unix.Mount(path, path, "", unix.MS_BIND, ""); err != nil {
		x.t.Skip("needs the right to mount: ", err)
	}
	x.t.Cleanup(func() { unix.Unmount(path, unix.MNT_DETACH) })
}

// TestFull creates, replaces and moves where there is no room: the files stay as they were, and nothing is left.
func TestFull(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
	d := t.TempDir()
	if err := unix.Mount("tmpfs", d, "tmpfs", 0, "size=64k"); err != nil {
		t.Skip("mount: ", err)
	}
	t.Cleanup(func() { unix.Unmount(d, unix.MNT_DETACH) })
	large := bytes.Repeat([]byte("x"), 128<<10)
	for name := range lesser {
		t.Run(name, func(t *testing.T) {
			y := lessen(t, name)
			for _, locks := range []string{y.locks, t.TempDir()} {
				x := newFileWorldIn(t, d, locks)
				writeFile(t, d, "f", "old\n")
				p := x.at("f")
				if _, err := x.w.Replace(p, x.read(p), large); !errors.Is(err, unix.ENOSPC) {
					t.Error(err)
				}
				if err := x.w.Create(x.at("new"), large); !errors.Is(err, unix.ENOSPC) {
					t.Error(err)
				}
				from := newFileWorld(t)
				writeFile(t, from.dir, "g", string(large))
				if err := x.w.Move(from.at("g"), x.at("g")); !errors.Is(err, unix.ENOSPC) {
					t.Error(err)
				}
				from.holds("g=" + string(large))
				x.holds("f=old\n")
				// What has several names is written in place, as far as there is room.
				x.w.hardLinks = true
				must(t, os.Link(filepath.Join(d, "f"), filepath.Join(d, "h")))
				p = x.at("f")
				if _, err := x.w.Replace(p, x.read(p), large); !errors.Is(err, unix.ENOSPC) {
					t.Error(err)
				}
				x.holds("f=old\n", "h=old\n")
				must(t, os.Remove(filepath.Join(d, "h")))
				x.tidy()
			}
		})
	}
}

// TestAttributes keeps extended attributes, and says which the system does not let it keep.
func TestAttributes(t *testing.T) {
	x := newFileWorld(t)
	path := writeFile(t, x.dir, "f", "a\n")
	if err := unix.Setxattr(path, "user.hallmark", []byte("kept"), 0); err != nil {
		t.Skip(err)
	}
	p := x.at("f")
	if lost, err := x.w.Replace(p, x.read(p), []byte("b\n")); err != nil || len(lost) > 0 {
		t.Fatal(lost, err)
	}
	buf := make([]byte, 10)
	if n, err := unix.Getxattr(path, "user.hallmark", buf); err != nil || string(buf[:n]) != "kept" {
		t.Errorf("%q, %v", buf[:n], err)
	}
	// A file system that has none of this kind: what is there is named.
	from, err := os.Open(path)
	must(t, err)
	defer from.Close()
	to, err := os.Open("/proc/self/status")
	must(t, err)
	defer to.Close()
	lost, err := copyAttributes(int(from.Fd()), int(to.Fd()), false)
	if err != nil || len(lost) != 1 || !strings.HasPrefix(lost[0], "attribute user.hallmark: not kept (") {
		t.Errorf("%q, %v", lost, err)
	}
}
