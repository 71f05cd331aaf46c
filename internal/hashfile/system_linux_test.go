package hashfile

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func setAttribute(path string) bool {
	return unix.Setxattr(path, "user.hallmark", []byte("kept"), 0) == nil
}

func hasAttribute(path string) bool {
	buf := make([]byte, 10)
	n, err := unix.Getxattr(path, "user.hallmark", buf)
	return err == nil && string(buf[:n]) == "kept"
}

// mount shows a directory at another path, too.
func mount(from, to string) error { return syscall.Mount(from, to, "", syscall.MS_BIND, "") }

func unmount(path string) error { return syscall.Unmount(path, syscall.MNT_DETACH) }

// otherMount returns a directory on another mount than that of temporary directories.
func otherMount(t *testing.T) (string, bool) {
	t.Helper()
	d, err := os.MkdirTemp("/dev/shm", "hashfile")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(d) })
	must(t, os.WriteFile(filepath.Join(d, "f"), nil, 0o600))
	err = os.Link(filepath.Join(d, "f"), filepath.Join(t.TempDir(), "f"))
	os.Remove(filepath.Join(d, "f"))
	return d, errors.Is(err, syscall.EXDEV)
}
