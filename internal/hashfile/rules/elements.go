package rules

import (
	"path/filepath"
	"strings"
)

// Elements splits a path into its elements, without empty ones and ".".
func Elements(p string) []string {
	var found []string
	for _, e := range strings.Split(filepath.ToSlash(p), "/") {
		if e != "" && e != "." {
			found = append(found, e)
		}
	}
	return found
}
