//go:build unix

package disk

import (
	"os"
	"syscall"
)

// canSyncDirs says that a directory can be brought to the disk, with the names in it.
const canSyncDirs = true

// countLinks is the number of a file's names.
func countLinks(f *os.File) int {
	if info, err := f.Stat(); err == nil {
		if st, ok := info.Sys().(*syscall.Stat_t); ok {
			return int(st.Nlink)
		}
	}
	return 1
}
