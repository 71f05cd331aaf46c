package closure

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/internal/spelling"
	"github.com/hallmark-mcp/hallmark/project"
)

// LaterMajor is a dependency of a package in a later major version than any that the package names: it may have been
// written for an earlier one.
type LaterMajor struct {
	Name, Requirement string // as the package requires it, ">=1.1.3"
	Version           string // that was resolved
	Before            int    // the major version that follows the latest that it names
}

func (l LaterMajor) String() string {
	return fmt.Sprintf("%s%s, which is %s now", l.Name, l.Requirement, l.Version)
}

// majors finds the first number of each version of a requirement.
var majors = spelling.Form(`(?:^|[=<>~! ,])v?([0-9]+)`)

// FindLaterMajors lists them for the root of a closure, a Python package: npm's ranges end at a major version by habit.
func FindLaterMajors(t *Packages, c *project.Closure) (later []LaterMajor) {
	if t.Wheel == nil {
		return nil
	}
	for _, r := range t.Wheel.Requires {
		want, err := artifact.NewPyPI(r.Name, "0", "")
		if err != nil || r.Versions == "" {
			continue
		}
		for _, p := range c.Packages {
			major, ok := majorOf(p.Ref.Version())
			if p.Ref.Normal().Name() != want.Normal().Name() || !ok {
				continue
			}
			newest := 0
			for _, m := range majors().FindAllStringSubmatch(r.Versions, -1) {
				named, _ := strconv.Atoi(m[1])
				newest = max(newest, named)
			}
			known := func(l LaterMajor) bool { return l.Name == r.Name } // for another Python or system
			if newest < major && !slices.ContainsFunc(later, known) {
				later = append(later, LaterMajor{r.Name, r.Versions, p.Ref.Version(), newest + 1})
			}
		}
	}
	return later
}

func majorOf(version string) (int, bool) {
	major, _, _ := strings.Cut(version, ".")
	n, err := strconv.Atoi(major)
	return n, err == nil
}
