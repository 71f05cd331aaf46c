package place

import (
	"path/filepath"
	"strings"
)

// SplitPath splits a path into its elements, without empty ones and ".".
func SplitPath(p string) []string {
	var found []string
	for _, e := range strings.Split(filepath.ToSlash(p), "/") {
		if e != "" && e != "." {
			found = append(found, e)
		}
	}
	return found
}
