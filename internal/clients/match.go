package clients

import (
	"path"
	"path/filepath"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/spelling"
)

// anyDirs is the element of a location's path that matches any number of directories, or none.
const anyDirs = "**"

// matches reports whether patterns, in lower case, match the last elements of a path as spellElements
// returns them.
func matches(patterns, elements []string) bool {
	_, ok := countMatched(patterns, elements)
	return ok
}

// countMatched returns how many of the last elements of a path patterns match: the fewest possible, if one
// of the patterns is **.
func countMatched(patterns, elements []string) (n int, ok bool) {
	for i := len(patterns) - 1; i >= 0; i-- { // the last differs most often
		if patterns[i] == anyDirs {
			for ; n <= len(elements); n++ {
				if above, ok := countMatched(patterns[:i], elements[:len(elements)-n]); ok {
					return above + n, true
				}
			}
			return 0, false
		}
		if n == len(elements) {
			return 0, false
		}
		if ok, err := path.Match(patterns[i], elements[len(elements)-1-n]); err != nil || !ok {
			return 0, false
		}
		n++
	}
	return n, true
}

// spellElements returns the elements of a path in one spelling for all that some file system takes for
// the same name, so that no file is missed that a client would open as its own.
func spellElements(name string) []string {
	elements := strings.Split(filepath.ToSlash(name), "/")
	for i, e := range elements {
		elements[i] = spelling.Of(e)
	}
	return elements
}
