package clients

import (
	"fmt"
	"os"
	"path/filepath"
)

// maxDeep bounds the directories that are searched below one.
const maxDeep = 10_000

// errTooDeep says that a directory has more than maxDeep directories below it.
var errTooDeep = fmt.Errorf("holds more than %d directories that a client searches; not all were looked at", maxDeep)

// directoriesBelow returns dir and the directories below it, parents first. It follows links, and returns
// each directory once, so that links in a circle end. It leaves out a directory, with all below it, if
// skip is not nil and reports true of it. If there are more than maxDeep it returns the first of them and
// errTooDeep.
func directoriesBelow(dir string, skip func(real, name string) bool) (dirs []string, err error) {
	var reals []string // of dirs, without links
	seen := map[string]bool{}
	add := func(real, name string) {
		if !seen[real] && (skip == nil || !skip(real, name)) {
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

// resolveLinks returns the absolute path of name with all links resolved, also those of the working directory.
func resolveLinks(name string) (string, error) {
	abs, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}
