package place

import (
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/hallmark-mcp/hallmark/internal/spelling"
)

// Glob is a pattern for slash-separated paths in the form of .gitignore files: what wildmatch understands matches
// within one element, "**" matches any number of elements, a "/" at the beginning or in the middle ties the pattern to
// the directory of its file, and one at the end demands a directory.
type Glob struct {
	elements []string
	composed []string // the elements in NFC, if that differs and letter case does not count
	dirOnly  bool
	negated  bool // only in .gitignore
	fold     bool // letter case does not count
}

// newGlob parses a pattern; ok is false if it can match nothing. With fold letter case is ignored.
func newGlob(pattern string, fold bool) (g Glob, ok bool) {
	g.fold = fold
	pattern, g.dirOnly = strings.CutSuffix(pattern, "/")
	tied := strings.Contains(pattern, "/")
	g.elements = SplitPath(pattern)
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
	if fold && !norm.NFC.IsNormalString(pattern) {
		for _, e := range g.elements {
			g.composed = append(g.composed, norm.NFC.String(e))
		}
	}
	return g, true
}

// Globs are patterns of which one has to match.
type Globs []Glob

// NewGlobs returns the patterns that a pattern with braces stands for, as "*.{a,b}" for "*.a" and "*.b", or itself; ok
// is false if it can match nothing, or if braces stand for too many.
func NewGlobs(pattern string) (all Globs, ok bool) {
	each, err := expandBraces(pattern)
	if err != nil {
		return nil, false
	}
	if each == nil {
		each = []string{pattern}
	}
	for _, one := range each {
		g, ok := newGlob(one, false)
		if !ok {
			return nil, false
		}
		all = append(all, g)
	}
	return all, true
}

// Matches reports whether one of the patterns matches the path rel; dir says whether that is a directory. File names
// that came from macOS are decomposed, and few callers can write them so: they match as well if they do when composed.
func (all Globs) Matches(rel string, dir bool) bool {
	composed := rel
	if !spelling.IsASCII(rel) {
		composed = norm.NFC.String(rel)
	}
	return slices.ContainsFunc(all, func(g Glob) bool {
		return g.Matches(rel, dir) || composed != rel && g.Matches(composed, dir)
	})
}

// Matches reports whether the pattern matches the path rel; dir says whether that is a directory.
func (g Glob) Matches(rel string, dir bool) bool {
	if g.dirOnly && !dir {
		return false
	}
	if g.fold {
		rel = strings.ToLower(rel)
	}
	return matchPath(g.elements, strings.Split(rel, "/"), g.fold)
}

// covers reports whether the pattern matches rel or a directory above it. "x/**" covers x too: a rule for everything
// in a directory applies to the directory. With fold other spellings of rel count as well: with composed characters, as
// the pattern then has them, and without what Windows does not count to a name.
func (g Glob) covers(rel string) bool {
	if !g.fold {
		return coversPath(g.elements, rel, false)
	}
	if coversPath(g.elements, strings.ToLower(rel), true) {
		return true
	}
	form := rel
	if !spelling.IsASCII(rel) {
		form = norm.NFC.String(rel)
	}
	elements := g.elements
	if g.composed != nil {
		elements = g.composed
	}
	if form != rel || g.composed != nil {
		if coversPath(elements, strings.ToLower(form), true) {
			return true
		}
	}
	stems := strings.Split(form, "/")
	for i, e := range stems {
		stems[i] = spelling.Stem(e)
	}
	stem := strings.Join(stems, "/")
	return stem != form && coversPath(elements, strings.ToLower(stem), true)
}

// coversPath is covers for one form of the pattern's elements and of rel.
func coversPath(pattern []string, rel string, fold bool) bool {
	names := strings.Split(rel, "/")
	if n := len(pattern); n > 1 && pattern[n-1] == "**" {
		pattern = pattern[:n-1]
	}
	for n := 1; n <= len(names); n++ {
		if matchPath(pattern, names[:n], fold) {
			return true
		}
	}
	return false
}

// matchPath reports whether the elements of a pattern match names. It keeps, element by element, the set of prefixes
// of names that are matched so far, so that no pattern takes more than len(pattern)*len(names) steps.
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
