package host

import (
	"os"
	"path/filepath"
)

// RealPath is name after all links.
func RealPath(name string) string {
	if real, err := filepath.EvalSymlinks(name); err == nil {
		return real
	}
	return name
}

// RelativeTo names a file below dir by its path from there, any other as it is.
func RelativeTo(dir, name string) string {
	abs, err := filepath.Abs(name)
	if err != nil {
		return name
	}
	if root, err := filepath.Abs(dir); err == nil {
		if rel, err := filepath.Rel(root, abs); err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel)
		}
	}
	return abs
}

// SameFile reports whether two names are there and lead to one file or directory.
func SameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}
