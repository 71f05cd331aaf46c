package names

import (
	"path/filepath"
	"strings"
)

// elements splits a path, without empty elements and ".".
func Elements(p string) []string {
	var found []string
	for _, e := range strings.Split(filepath.ToSlash(p), "/") {
		if e != "" && e != "." {
			found = append(found, e)
		}
	}
	return found
}
