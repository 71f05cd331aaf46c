// Package engine does what the tools of the editing server do to files: it reads, edits, writes, lists, moves and
// searches them in the directories that a call may use. It knows no protocol: requests and results are values, and
// errors are refusals, which say what to do next.
//
// # Reading
//
// A file that has not changed since its latest snapshot shares the memory of the snapshot, and reading and hashing run
// at the same time. Files are read up to a limit, and what is larger is refused before its memory is taken.
//
// # Writing
//
// A file is replaced by a new one, with the mode, owner and extended attributes of the old one, after fsync, under an
// advisory lock that all processes of the user share. Where the system can exchange two files (Linux), the old one is
// examined after the exchange; if it is not the file that the edit was made for, the two are exchanged back. So nothing
// is lost of a writer who does not know the lock: what cannot get its name back is kept, and the refusal names it. On
// other systems bytes that somebody writes between the last comparison and the renaming are lost.
//
// # What a kill leaves
//
// A new file has no name until it is complete and gets its own (O_TMPFILE, Linux). What is displaced, or removed after
// it was copied, goes to the directory of the locks, below the user's state, as far as that is on the same mount, until
// it is removed. If the server is killed in that moment, it stays there, whole, and the next server that starts says
// so: see Engine.Leftovers. Nothing stays in the user's directories. Elsewhere such a file has a temporary name beside
// the one that is changed, and stays there.
//
// # Limits
//
// A writer who holds the old file open while it is replaced, and writes later, writes into a file without a name.
package engine

import (
	"github.com/hallmark-mcp/hallmark/hashline"
)

// Options are how files are read and written.
type Options struct {
	ReadOnly  bool   // nothing is written; the tools see to that, the engine only says so
	HardLinks bool   // write files with several names, in place
	Locks     string // directory for lock files, made if it is missing; none refuses what writes
	MaxFile   int64  // bytes of the largest file
	Anchors   hashline.Options
}

// Engine serves the calls of one server.
type Engine struct {
	o      Options
	reader *reader
	made   recentEdits
	writer *writer
}

// New returns an engine.
func New(o Options) *Engine {
	return &Engine{o: o, reader: newReader(o.MaxFile), writer: newWriter(o.Locks, o.HardLinks)}
}

// TagWidth is the number of hex digits of the tags that readers are shown.
func (e *Engine) TagWidth() int { return e.o.Anchors.Width }

// Leftovers returns sentences about what killed servers left, for people.
func (e *Engine) Leftovers() []string { return e.writer.Leftovers() }
