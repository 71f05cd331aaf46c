//go:build !linux

package place

import (
	"io/fs"
	"os"
)

// onDisk returns the name as the directory has it: in its letter case, its form of accents, and in full. Rules apply
// to that name, and not to other spellings that the system takes for the same file. If the name cannot be found,
// onDisk returns it unchanged.
func onDisk(dir *os.Root, name string, info fs.FileInfo) string {
	entries, err := fs.ReadDir(dir.FS(), ".")
	if err != nil {
		return name
	}
	found := name
	for _, e := range entries {
		if e.Name() == name {
			return name
		}
		if other, err := e.Info(); err == nil && os.SameFile(other, info) {
			found = e.Name()
		}
	}
	return found
}
