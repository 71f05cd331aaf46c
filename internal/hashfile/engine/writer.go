package engine

import "errors"

// Writer changes what places stand for.
type writer struct {
	locks     string
	hardLinks bool
}

// NewWriter returns a writer that keeps its locks in the directory locks, which is created when it is needed; without
// one nothing can be locked. With hardLinks it writes files that have several names, in place.
func newWriter(locks string, hardLinks bool) *writer { return &writer{locks, hardLinks} }

// ErrReplaced is the error of a file that another process changed after it was read.
var errReplaced = errors.New("was changed by somebody else while it was edited")

// errNoExchange is the error of a file that the system lets us write but not replace.
var errNoExchange = errors.New("the system does not let it be replaced")
