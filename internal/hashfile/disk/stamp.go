package disk

import (
	"fmt"
	"io/fs"
)

// stamp tells a file from others that exist at the same time.
type stamp struct {
	Device, Inode  uint64 // 0 where the system does not tell
	Size, Modified int64  // bytes, and ns since 1970
}

// isOf reports whether info is that of the same file; never of a stamp without an inode.
func (s stamp) isOf(info fs.FileInfo) bool {
	now := stampOf(info)
	return s.Inode != 0 && now.Device == s.Device && now.Inode == s.Inode
}

// String returns the stamp as a note holds it: four numbers.
func (s stamp) String() string {
	return fmt.Sprintf("%d %d %d %d", s.Device, s.Inode, s.Size, s.Modified)
}
