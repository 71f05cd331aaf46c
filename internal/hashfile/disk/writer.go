// Package disk changes files and directories for the tools of the editing server.
//
// A file is replaced by a new one, with the mode, owner and extended attributes of the old one, after fsync, under an
// advisory lock that all processes of the user share. Where the system can exchange two files (Linux), the old one is
// examined after the exchange; if it is not the file that the edit was made for, the two are exchanged back. So a
// writer who does not know the lock loses nothing. On other systems bytes that somebody writes between the last
// comparison and the renaming are lost.
//
// # What a kill leaves
//
// A new file has no name until it is complete and gets its own (O_TMPFILE, Linux). What is displaced, or removed after
// it was copied, goes to the directory of the locks, below the user's state, as far as that is on the same mount, until
// it is removed. If the server is killed in that moment, it stays there, whole, and the next server that starts says
// so: see Leftovers. Nothing stays in the user's directories. Elsewhere such a file has a temporary name beside the one
// that is changed, and stays there.
//
// # Limits
//
// A writer who holds the old file open while it is replaced, and writes later, writes into a file without a name.
package disk

import "errors"

// Writer changes what places stand for.
type Writer struct {
	locks     string
	hardLinks bool
}

// NewWriter returns a writer that keeps its locks in the directory locks, which is created when it is needed; without
// one nothing can be locked. With hardLinks it writes files that have several names, in place.
func NewWriter(locks string, hardLinks bool) *Writer { return &Writer{locks, hardLinks} }

// ErrReplaced is the error of a file that another process changed after it was read.
var ErrReplaced = errors.New("was changed by somebody else while it was edited")

// errNoExchange is the error of a file that the system lets us write but not replace.
var errNoExchange = errors.New("the system does not let it be replaced")
