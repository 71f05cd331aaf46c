//go:build unix

package engine

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// canSyncDirs says whether a directory can be synced to the disk, with the names in it.
const canSyncDirs = true

// countLinks returns the number of names that a file has.
func countLinks(f *os.File) int {
	if info, err := f.Stat(); err == nil {
		if st, ok := info.Sys().(*syscall.Stat_t); ok {
			return int(st.Nlink)
		}
	}
	return 1
}

// tryLock locks an open directory against others that lock it, and reports false if one of them holds it. Where it
// cannot be locked it reports true: see lockDirs.
func tryLock(d *os.File) bool {
	return !errors.Is(syscall.Flock(int(d.Fd()), syscall.LOCK_EX|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}

// isOurs reports whether a file belongs to the user, and nobody else may write it.
func isOurs(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid() && info.Mode().Perm()&0o022 == 0
}
