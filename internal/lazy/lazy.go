// Package lazy makes values when they are first asked for, so that a command pays only for what it uses.
package lazy

import (
	"regexp"
	"sync"
)

// Regexp returns a function that returns the expression, compiled once. It panics there if pattern is none.
func Regexp(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}
