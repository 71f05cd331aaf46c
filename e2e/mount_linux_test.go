package e2e

import (
	"os"
	"syscall"
	"testing"
)

// mountSmall puts a file system of a given size on dir.
func mountSmall(t *testing.T, dir, options string) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("mounting a small disk needs root")
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, options); err != nil {
		t.Skip("mounting a small disk: ", err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
}
