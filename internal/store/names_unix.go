//go:build unix

package store

import (
	"io/fs"
	"syscall"
)

// names is the number of names that a file has.
func names(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink)
	}
	return 1
}
