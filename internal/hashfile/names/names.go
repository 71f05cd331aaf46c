// Package names knows what file systems and version control take the name of a file for. Different spellings can lead
// to one file, and some names make a directory a repository, whose files name programs that version control runs.
package names

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
