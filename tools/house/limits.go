package main

import (
	"cmp"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// The limits that -check holds, with those of which only the numbers are printed.
const (
	maxFacade   = 800 // lines of the package in the module's directory
	maxFunction = 50  // lines of a function
	maxColumns  = 120 // of a line, where a tab takes four
	maxFile     = 800 // lines of a file
	minPackage  = 150 // lines of a package
	minTests    = 10  // percent of a package's lines that its tests have

	maxBranches = 25 // cyclomatic number of a function; printed only
	maxParams   = 5  // parameters of a function; printed only
)

// checkLimits is an error that names what is beyond a limit and is not in the tables of ARCHITECTURE.md, and what is
// in a table and no longer beyond. Of what is counted it names those in changed files, which are likely to be new.
func checkLimits(all []*measures, architecture string, changed map[string]bool) error {
	known, reasons, err := readTables(architecture)
	if err != nil {
		return err
	}
	found := checkCounts(add(all), known, changed)
	for _, m := range slices.SortedFunc(slices.Values(all), byPath) {
		if m.path == "." && m.lines > maxFacade {
			found = append(found, fmt.Sprintf("%s has %d lines, more than %d", m.path, m.lines, maxFacade))
		}
		found = append(found, checkSize(m, reasons[m.path])...)
		delete(reasons, m.path)
	}
	for path := range reasons {
		found = append(found, fmt.Sprintf("%s is in the table of ARCHITECTURE.md and is no package", path))
	}
	if len(found) > 0 {
		return errors.New("beyond the limits:\n  " + strings.Join(found, "\n  "))
	}
	return nil
}

func byPath(a, b *measures) int { return cmp.Compare(a.path, b.path) }

// checkCounts compares how many findings there are with how many are known. Each limit came later than part of the
// source: what was beyond it then is counted, and no more is let in.
func checkCounts(sum *measures, known map[string]int, changed map[string]bool) (found []string) {
	limits := map[string]bool{}
	for _, kind := range []finding{longFunction, wideLine, longFile} {
		what := kind.String()
		limits[what] = true
		if n := len(sum.findings[kind]); n > known[what] {
			found = append(found, fmt.Sprintf("%d %s, where ARCHITECTURE.md knows of %d; house -list names all, and "+
				"in files that changed are:", n, what, known[what]))
			for _, where := range sum.findings[kind] {
				if file, _, _ := strings.Cut(where, ":"); changed[filepath.ToSlash(file)] {
					found = append(found, "  "+where)
				}
			}
		}
	}
	for what := range known {
		if !limits[what] {
			found = append(found, fmt.Sprintf("%q is in the table of ARCHITECTURE.md and is no limit", what))
		}
	}
	return found
}

// changedFiles are the files that the last commit changed, and those that differ from it. It is empty where there is no
// git, as in an archive of the source: then only less is said.
func changedFiles(root string) map[string]bool {
	changed := map[string]bool{}
	for _, args := range [][]string{
		{"diff", "--name-only", "--no-renames", "--relative", "-z", "HEAD^"},
		{"ls-files", "--others", "--exclude-standard", "-z"},
	} {
		cmd := exec.Command("git", args...)
		cmd.Dir = root
		out, err := cmd.Output()
		if err != nil {
			continue
		}
		for name := range strings.SplitSeq(string(out), "\x00") {
			changed[name] = true
		}
	}
	return changed
}

// exception says which limits a package may be below.
type exception struct{ small, tests bool }

// checkSize compares the sizes of a package and of its tests with the limits, and these with the exception.
func checkSize(m *measures, may exception) (found []string) {
	small, untested := m.lines < minPackage, m.tests*100 < m.lines*minTests
	switch {
	case small && !may.small:
		found = append(found, fmt.Sprintf("%s has %d lines, fewer than %d: join it with another, or give the "+
			"reason in ARCHITECTURE.md", m.path, m.lines, minPackage))
	case !small && may.small:
		found = append(found, fmt.Sprintf("%s has %d lines, and needs no reason for fewer than %d", m.path, m.lines,
			minPackage))
	}
	switch {
	case untested && !may.tests:
		found = append(found, fmt.Sprintf("%s has %d lines and %d of tests, fewer than %d %%: move its tests to it, "+
			"or give the reason in ARCHITECTURE.md", m.path, m.lines, m.tests, minTests))
	case !untested && may.tests:
		found = append(found, fmt.Sprintf("%s has %d lines and %d of tests, and needs no reason for fewer than %d %%",
			m.path, m.lines, m.tests, minTests))
	}
	return found
}

// readTables reads two tables of ARCHITECTURE.md: one says how much was beyond a limit when it came, and one which
// packages may be small or have few tests beside them.
//
//	| known beyond a limit | how many |
//	| packages | may be below | why |
//
// The second has `small`, `tests` or both in its second column.
func readTables(text string) (known map[string]int, reasons map[string]exception, err error) {
	known, reasons = map[string]int{}, map[string]exception{}
	var head string
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		switch {
		case !strings.HasPrefix(line, "|"):
			head = ""
		case head == "":
			head = strings.Join(cells, "|")
		case strings.HasPrefix(cells[0], "---"):
		case head == "known beyond a limit|how many" && len(cells) == 2:
			if known[cells[0]], err = strconv.Atoi(cells[1]); err != nil {
				return nil, nil, fmt.Errorf("ARCHITECTURE.md: %s: %w", cells[0], err)
			}
		case head == "packages|may be below|why":
			if len(cells) != 3 || cells[2] == "" {
				return nil, nil, fmt.Errorf("ARCHITECTURE.md: no reason in %q", line)
			}
			may := exception{small: strings.Contains(cells[1], "small"), tests: strings.Contains(cells[1], "tests")}
			for _, path := range strings.Fields(cells[0]) {
				path = strings.Trim(path, "`")
				if _, twice := reasons[path]; twice || may == (exception{}) {
					return nil, nil, fmt.Errorf("ARCHITECTURE.md: %s is there twice, or its second cell says "+
						"neither small nor tests", path)
				}
				reasons[path] = may
			}
		}
	}
	return known, reasons, nil
}
