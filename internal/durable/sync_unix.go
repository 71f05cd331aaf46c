//go:build unix

package durable

import (
	"errors"
	"os"
	"syscall"
)

// syncDir brings the names in a directory to the disk.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	// Some file systems (FUSE, SMB) do not know fsync of a directory. They have
	// nothing better to offer, so that is no reason to report a failure.
	if err := d.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOTSUP) {
		return err
	}
	return nil
}
