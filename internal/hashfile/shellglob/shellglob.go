// Package shellglob matches paths with globs as programs in JavaScript and Rust understand them, for the tools of other
// servers: with alternatives in braces, and tied to the whole path. Globs of rules, which are those of .gitignore, are
// in package rules.
//
// A glob is translated into regular expressions of RE2, so that no glob takes more than linear time.
package shellglob

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Style is whose globs are meant.
type Style int

// The styles.
const (
	// Minimatch is that of JavaScript: "*" and "?" match within an element of a path, "**" is any number of elements,
	// "!" at the beginning turns the glob around, and "@(a|b)", "?(a)", "+(a)" and "*(a)" match as in a shell.
	Minimatch Style = iota
	// Globset is that of Rust: "*" and "?" match slashes too.
	Globset
)

// Bounds of a glob.
const (
	maxGlob  = 1000 // bytes
	maxForms = 200  // after the braces are expanded
)

// Glob is a pattern for paths with slashes.
type Glob struct {
	forms   []*regexp.Regexp // one of which matches
	negated bool
}

// Parse returns the glob of a text. Its errors end a sentence that begins with the text.
func Parse(text string, style Style) (*Glob, error) {
	g := &Glob{}
	if len(text) > maxGlob {
		return nil, fmt.Errorf("has %d bytes; give at most %d", len(text), maxGlob)
	}
	if style == Minimatch {
		if strings.HasPrefix(text, "#") { // a comment, which matches nothing
			return g, nil
		}
		for strings.HasPrefix(text, "!") && !strings.HasPrefix(text, "!(") {
			text, g.negated = text[1:], !g.negated
		}
	}
	forms, err := expand(text)
	if err != nil {
		return nil, err
	}
	for _, form := range forms {
		if form == "" {
			continue
		}
		t := translation{style: style}
		if err := t.path(form); err != nil {
			return nil, err
		}
		re, err := regexp.Compile(`(?s)\A` + t.out.String() + `\z`)
		if err != nil {
			return nil, errors.New("cannot be understood; give one such as *.go or src/**/*.ts")
		}
		g.forms = append(g.forms, re)
	}
	return g, nil
}

// Matches reports whether the glob matches a path.
func (g *Glob) Matches(path string) bool {
	for _, form := range g.forms {
		if form.MatchString(path) {
			return !g.negated
		}
	}
	return g.negated
}

// expand returns the globs without alternatives in braces that stand for one with them.
func expand(text string) ([]string, error) {
	done, todo := []string{}, []string{text}
	for len(todo) > 0 {
		if len(todo)+len(done) > maxForms {
			return nil, fmt.Errorf("has more than %d alternatives", maxForms)
		}
		next := todo[0]
		todo = todo[1:]
		from, to, alternatives := findBraces(next)
		if alternatives == nil {
			done = append(done, next)
			continue
		}
		if len(alternatives) == 1 {
			return nil, errors.New("has a sequence in braces; write its members with commas")
		}
		for _, a := range alternatives {
			todo = append(todo, next[:from]+a+next[to:])
		}
	}
	return done, nil
}

// findBraces returns where the first braces with alternatives are, and these; one alternative stands for a sequence
// such as "1..9". There are none if alternatives is nil.
func findBraces(text string) (from, to int, alternatives []string) {
	for from = 0; from < len(text); from++ {
		switch text[from] {
		case '\\':
			from++
		case '{':
			if to, alternatives = splitBraces(text, from); alternatives != nil {
				return from, to, alternatives
			}
		}
	}
	return 0, 0, nil
}

// splitBraces returns the alternatives of the braces that open at from, and the offset behind them.
func splitBraces(text string, from int) (to int, alternatives []string) {
	depth, begin := 0, from+1
	for i := from; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '{':
			depth++
		case ',':
			if depth == 1 {
				alternatives = append(alternatives, text[begin:i])
				begin = i + 1
			}
		case '}':
			if depth--; depth > 0 {
				continue
			}
			if alternatives == nil && !strings.Contains(text[begin:i], "..") {
				return 0, nil
			}
			return i + 1, append(alternatives, text[begin:i])
		}
	}
	return 0, nil
}
