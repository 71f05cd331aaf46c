package rules

import (
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/hashfile/names"
)

// glob is a pattern for slash-separated paths, as .gitignore files have it: what wildmatch
// knows stays in one element, "**" is any number of elements, a "/" at the beginning or in the
// middle ties it to the directory of its file, one at the end demands a directory.
type Glob struct {
	elements []string
	dirOnly  bool
	negated  bool // only in .gitignore
	fold     bool // letter case does not count
}

func NewGlob(pattern string, fold bool) (g Glob, ok bool) {
	g.fold = fold
	pattern, g.dirOnly = strings.CutSuffix(pattern, "/")
	tied := strings.Contains(pattern, "/")
	g.elements = names.Elements(pattern)
	if len(g.elements) == 0 {
		return g, false
	}
	if !tied {
		g.elements = append([]string{"**"}, g.elements...)
	}
	for i, e := range g.elements {
		if !isElement(e) || e == ".." {
			return g, false
		}
		if len(e) > 2 && strings.Trim(e, "*") == "" {
			g.elements[i] = "**"
		}
	}
	return g, true
}

// matches reports whether the path rel is matched.
func (g Glob) Matches(rel string, dir bool) bool {
	if g.dirOnly && !dir {
		return false
	}
	if g.fold {
		rel = strings.ToLower(rel)
	}
	return matchPath(g.elements, strings.Split(rel, "/"), g.fold)
}

// covers reports whether rel or a directory above it is matched. "x/**" covers x too: a rule for all
// that is in a directory holds for the directory.
func (g Glob) covers(rel string) bool {
	if g.fold {
		rel = strings.ToLower(rel)
	}
	names := strings.Split(rel, "/")
	pattern := g.elements
	if n := len(pattern); n > 1 && pattern[n-1] == "**" {
		pattern = pattern[:n-1]
	}
	for n := 1; n <= len(names); n++ {
		if matchPath(pattern, names[:n], g.fold) {
			return true
		}
	}
	return false
}

// matchPath keeps, element by element of the pattern, the set of prefixes of names that it
// has matched so far, so that no pattern takes more than len(pattern)*len(names) steps.
func matchPath(pattern, names []string, fold bool) bool {
	reached := make([]bool, len(names)+1)
	reached[0] = true
	for i, e := range pattern {
		next := make([]bool, len(names)+1)
		if e == "**" {
			any, last := false, i == len(pattern)-1
			for n := range reached {
				next[n] = any || !last && reached[n] // at the end it is what lies below
				any = any || reached[n]
			}
		} else {
			for n, name := range names {
				if reached[n] {
					if wildmatch(e, name, fold) {
						next[n+1] = true
					}
				}
			}
		}
		reached = next
	}
	return reached[len(names)]
}
