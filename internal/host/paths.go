package host

import (
	"os"
	"path/filepath"
)

// RealPath resolves the links of name, and returns name if that fails.
func RealPath(name string) string {
	if real, err := filepath.EvalSymlinks(name); err == nil {
		return real
	}
	return name
}

// RelativeTo returns the slash-separated path of a file from dir if it lies below dir, else its
// absolute path.
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

// IsBelow reports whether a file is a directory or lies below it. Both are written in the same way.
func IsBelow(dir, name string) bool {
	rel, err := filepath.Rel(dir, name)
	return err == nil && filepath.IsLocal(rel)
}

// SameFile reports whether two names exist and lead to the same file or directory.
func SameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}
