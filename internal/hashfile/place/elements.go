package place

import (
	"path/filepath"
	"slices"
	"strings"
)

// SplitPath splits a path into its elements, without empty ones and ".".
func SplitPath(p string) []string {
	return slices.DeleteFunc(strings.Split(filepath.ToSlash(p), "/"), func(e string) bool { return e == "" || e == "." })
}
