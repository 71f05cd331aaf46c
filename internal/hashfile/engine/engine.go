// Package engine does what the tools of the editing server do to files: it reads, edits, writes, lists, moves and
// searches them in the directories that a call may use. It knows no protocol: requests and results are values, and
// errors are refusals, which say what to do next. The tools, with their names and arguments, are those of a dialect.
package engine

import (
	"github.com/hallmark-mcp/hallmark/hashline"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/contents"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/disk"
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
	reader *contents.Reader
	writer *disk.Writer
}

// New returns an engine.
func New(o Options) *Engine {
	return &Engine{o: o, reader: contents.NewReader(o.MaxFile), writer: disk.NewWriter(o.Locks, o.HardLinks)}
}

// MaxFile is the size of the largest file, in bytes.
func (e *Engine) MaxFile() int64 { return e.o.MaxFile }

// TagWidth is the number of hex digits of the tags that readers are shown.
func (e *Engine) TagWidth() int { return e.o.Anchors.Width }

// Leftovers returns sentences about what killed servers left, for people.
func (e *Engine) Leftovers() []string { return e.writer.Leftovers() }
