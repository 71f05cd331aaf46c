package clients

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// anyDirs is the element of a location's path that stands for any directories, or none.
const anyDirs = "**"

// maxDeep bounds the directories that are searched below one.
const maxDeep = 10_000

// matches reports whether the last elements of a path, spelled, fit patterns in lower case.
func matches(patterns, elements []string) bool {
	_, ok := countMatched(patterns, elements)
	return ok
}

// countMatched is how many of the last elements of a path fit patterns; the fewest, if ** is one of them.
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

// rootOf returns the directory of the project in which the file called name has the place of l.
func (l location) rootOf(name string) (dir string, ok bool) {
	n, ok := countMatched(l.parts(), spellElements(name))
	if !ok {
		return "", false
	}
	for range n {
		name = filepath.Dir(name)
	}
	return name, true
}

// directoriesBelow returns dir and the directories below it, parents first, through links too, and each
// once, so that links in a circle end. It leaves out those of which not, if it is not nil, reports
// true, with all below them. If there are more than maxDeep it returns the first of them, and errTooDeep.
func directoriesBelow(dir string, not func(real, name string) bool) (dirs []string, err error) {
	var reals []string // of dirs, without links
	seen := map[string]bool{}
	add := func(real, name string) {
		if !seen[real] && (not == nil || !not(real, name)) {
			seen[real] = true
			dirs, reals = append(dirs, name), append(reals, real)
		}
	}
	if real, err := resolveLinks(dir); err == nil {
		add(real, dir)
	}
	for i := 0; i < len(dirs); i++ {
		entries, err := os.ReadDir(dirs[i])
		if err != nil {
			continue // a client cannot read it either
		}
		for _, e := range entries {
			name, real := filepath.Join(dirs[i], e.Name()), filepath.Join(reals[i], e.Name())
			if !e.IsDir() {
				if e.Type().IsRegular() {
					continue
				}
				if st, err := os.Stat(name); err != nil || !st.IsDir() {
					continue
				}
				if real, err = resolveLinks(name); err != nil {
					continue
				}
			}
			add(real, name)
			if len(dirs) > maxDeep {
				return dirs, fmt.Errorf("%+q: %w", dir, errTooDeep)
			}
		}
	}
	return dirs, nil
}

var errTooDeep = fmt.Errorf("holds more than %d directories that a client searches; not all were looked at", maxDeep)

// HoldsOnlyServers reports whether a client keeps nothing but servers in the file called name, as its
// name or its directory's tells. Settings, agents, plugins and skills need have none.
func HoldsOnlyServers(name string) bool {
	name = strings.ToLower(filepath.ToSlash(name))
	dir, base := path.Split(name)
	return strings.Contains(base, "mcp") || strings.Contains(path.Base(dir), "mcp")
}
