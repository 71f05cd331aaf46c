package place

import (
	"errors"
	"fmt"
	"strings"
)

// Bounds of globs with braces.
const (
	maxExpansions     = 100  // that one glob stands for
	maxFileExpansions = 1000 // that those of one AGENTS.md stand for
	maxBraceDepth     = 8    // braces in braces
	maxBraceGlob      = 1024 // bytes of a glob with braces
)

var (
	errUnbalanced = errors.New("its braces are not balanced; in brackets it must stand in quotes")
	errRange      = errors.New("ranges in braces are not supported; give the alternatives")
	errDepth      = fmt.Errorf("it has more than %d braces in braces", maxBraceDepth)
	errExpansions = fmt.Errorf("it stands for more than %d globs", maxExpansions)
	errBraceGlob  = fmt.Errorf("it has braces, and more than %d bytes", maxBraceGlob)
)

// expandBraces returns the globs that a glob with braces stands for, one for each choice of alternatives: "*.{a,b}" is
// "*.a" and "*.b". Braces can lie in braces, alternatives can be empty, and braces without a comma have one. A
// backslash makes a letter of what follows. Without braces there are none.
func expandBraces(glob string) ([]string, error) {
	if !strings.ContainsAny(glob, "{}") {
		return nil, nil
	}
	if len(glob) > maxBraceGlob {
		return nil, errBraceGlob
	}
	found, rest, err := expandAlternative(glob, 0)
	if err == nil && rest != "" {
		err = errUnbalanced
	}
	return found, err
}

// expandAlternative expands a glob up to the comma or the brace that ends it at a depth of braces; rest begins with
// that.
func expandAlternative(glob string, depth int) (found []string, rest string, err error) {
	found = []string{""}
	for rest = glob; rest != ""; {
		size := letters(rest, depth)
		tails := []string{rest[:size]}
		switch {
		case size > 0:
		case rest[0] != '{':
			return found, rest, nil
		default:
			after := ""
			if tails, after, err = expandGroup(rest[1:], depth+1); err != nil {
				return nil, "", err
			}
			size = len(rest) - len(after)
		}
		if found, err = appendEach(found, tails); err != nil {
			return nil, "", err
		}
		rest = rest[size:]
	}
	return found, "", nil
}

// letters returns how many bytes of a glob come before the first brace, or comma in braces.
func letters(glob string, depth int) int {
	for i := 0; i < len(glob); i++ {
		switch c := glob[i]; {
		case c == '\\':
			i++
		case c == '{' || c == '}' || c == ',' && depth > 0:
			return i
		}
	}
	return len(glob)
}

// expandGroup expands the alternatives after a brace; rest is what follows the brace that ends them.
func expandGroup(glob string, depth int) (found []string, rest string, err error) {
	if depth > maxBraceDepth {
		return nil, "", errDepth
	}
	for rest = glob; ; rest = rest[1:] {
		alternative, after, err := expandAlternative(rest, depth)
		if err != nil {
			return nil, "", err
		}
		if after == "" {
			return nil, "", errUnbalanced
		}
		only := len(found) == 0 && after[0] == '}'
		if only && strings.Contains(rest[:len(rest)-len(after)], "..") {
			return nil, "", errRange
		}
		if found = append(found, alternative...); len(found) > maxExpansions {
			return nil, "", errExpansions
		}
		if rest = after; rest[0] == '}' {
			return found, rest[1:], nil
		}
	}
}

// appendEach returns each head with each tail.
func appendEach(heads, tails []string) ([]string, error) {
	if len(heads)*len(tails) > maxExpansions {
		return nil, errExpansions
	}
	var all []string
	for _, head := range heads {
		for _, tail := range tails {
			all = append(all, head+tail)
		}
	}
	return all, nil
}
