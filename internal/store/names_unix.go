//go:build unix

package store

import (
	"io/fs"
	"syscall"
)

// linkCount is the number of names that a file has.
func linkCount(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink)
	}
	return 1
}
