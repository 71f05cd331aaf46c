package main

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// affected is what a change asks for.
type affected struct {
	test    []string // directories of packages, sorted
	through []string // packages with tests that import a changed one through others only
	others  []string // files that are in no package, and that no test mentions
}

// reader reads a file of the module.
type reader func(name string) ([]byte, error)

// affectedBy finds the packages that the changed files belong to, and those that import one of them. A Go file
// belongs to the package of its directory, and any other file to the package of the nearest directory that has
// one (as testdata does). A file at the top or in a directory without packages, such as a page of docs, belongs to
// the packages whose tests mention its name. A change of tests alone asks for no importer, and one of go.mod asks
// for everything.
func affectedBy(packages []pkg, files []string, read reader) affected {
	known := map[string]bool{}
	for _, p := range packages {
		known[p.dir] = true
	}
	var out affected
	changed, exported := map[string]bool{}, map[string]bool{}
	for _, file := range files {
		dirs := ownersOf(packages, known, file, read)
		if len(dirs) == 0 {
			out.others = append(out.others, file)
		}
		for _, dir := range dirs {
			changed[dir] = true
		}
		if len(dirs) == 1 && isProgramText(file) && (dirs[0] == "." || strings.HasPrefix(file, dirs[0]+"/")) {
			exported[dirs[0]] = true
		}
	}
	reached := reach(packages, exported)
	for _, p := range packages {
		switch {
		case changed[p.dir] || importsAny(p, exported):
			out.test = append(out.test, p.dir)
		case reached[p.dir] && len(p.tests) > 0:
			out.through = append(out.through, p.dir)
		}
	}
	slices.Sort(out.test)
	slices.Sort(out.through)
	return out
}

// ownersOf gives the directories of the packages that a file belongs to.
func ownersOf(packages []pkg, known map[string]bool, file string, read reader) (dirs []string) {
	if file == "go.mod" || file == "go.sum" {
		for _, p := range packages {
			dirs = append(dirs, p.dir)
		}
		return dirs
	}
	dir := path.Dir(file)
	for !known[dir] && dir != "." {
		if _, err := read(dir + "/go.mod"); err == nil {
			return nil // a module of its own
		}
		dir = path.Dir(dir)
	}
	if dir != "." || known["."] && path.Dir(file) == "." && path.Ext(file) == ".go" {
		return []string{dir}
	}
	names := mentionOf(file)
	for _, p := range packages {
		if slices.ContainsFunc(p.tests, func(test string) bool {
			text, err := read(test)
			return err == nil && names.Match(text)
		}) {
			dirs = append(dirs, p.dir)
		}
	}
	return dirs
}

// mentionOf matches a file's name in a test: behind its directory, if it has one, as in "docs/page.md" and
// filepath.Join("docs", "page.md"), and to the end of a string.
func mentionOf(file string) *regexp.Regexp {
	before := `["/]`
	if dir := path.Dir(file); dir != "." {
		before = regexp.QuoteMeta(path.Base(dir)) + `(?:/|", ")`
	}
	return regexp.MustCompile(before + regexp.QuoteMeta(path.Base(file)) + "[\"`]")
}

// isProgramText reports whether a file of a package is compiled into programs, as what is embedded is too.
func isProgramText(file string) bool {
	return !strings.HasSuffix(file, "_test.go") && !strings.Contains("/"+file, "/testdata/")
}

// reach gives all packages that import one of some, be it through others.
func reach(packages []pkg, from map[string]bool) map[string]bool {
	reached := map[string]bool{}
	for dir := range from {
		reached[dir] = true
	}
	for more := true; more; {
		more = false
		for _, p := range packages {
			if !reached[p.dir] && importsAny(p, reached) {
				reached[p.dir], more = true, true
			}
		}
	}
	return reached
}

func importsAny(p pkg, of map[string]bool) bool {
	return slices.ContainsFunc(p.imports, func(dir string) bool { return of[dir] })
}

// leftOut says what the tests of the packages do not cover.
func (a affected) leftOut() (said []string) {
	if len(a.others) > 0 {
		said = append(said, "in no package of the module, and mentioned by no test: "+strings.Join(a.others, " "))
	}
	if len(a.through) > 0 {
		said = append(said, fmt.Sprintf("left to 'make test': %d packages that import what changed through others: %s",
			len(a.through), strings.Join(a.through, " ")))
	}
	return append(said, "left to 'make test': tests of other packages that start programs of this module")
}
