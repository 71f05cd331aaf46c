package spelling

import (
	"regexp"
	"sync"
)

// Form returns a function that returns the expression of a text's form, compiled when it is first asked for: a command
// pays only for those that it uses. It panics there if pattern is none.
func Form(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}
