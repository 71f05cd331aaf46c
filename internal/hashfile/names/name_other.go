//go:build !linux

package names

import (
	"io/fs"
	"os"
)

// diskName is the name as the directory has it: in its letter case, its form of accents,
// and in full. Rules are about that, and not about what else the system takes for the
// same. If it cannot be found, it is name.
func OnDisk(dir *os.Root, name string, info fs.FileInfo) string {
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
