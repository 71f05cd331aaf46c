package place

import (
	"path/filepath"
	"slices"
	"strings"
)

// SplitPath splits a path into its elements, without empty ones and ".".
func SplitPath(p string) []string {
	all := strings.Split(filepath.ToSlash(p), "/")
	return slices.DeleteFunc(all, func(e string) bool { return e == "" || e == "." })
}
