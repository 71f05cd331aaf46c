// Package hashfile is the MCP server that reads and edits text files by line hashes, on standard input and output.
// Package hashline decides what an edit does to bytes; this package and those below it do everything between the bytes
// and the model:
//
//	stdio     MCP with the client: messages, one a line, and in which order calls run
//	rules     AGENTS.md, .gitignore, what names are taken for, and how a refusal is told to a model
//	place     the allowed directories, and where a path leads in them, checked and held open
//	engine    what tools do to files, as requests and results: read, locked, replaced, created and moved
//
// The server offers tools, and finds out which directories each call may use. What it may read and write, and how, is
// described there: confinement in place, writing in engine.
//
// What a model reads is in the text of an answer, whole: some clients pass on the structure alone where there is one,
// so that only refusals have one, which holds the same.
package hashfile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/hallmark-mcp/hallmark/hashline"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/engine"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/stdio"
)

// New returns a server. Its configured directories have to exist.
func New(c Config) (*Server, error) {
	c.MaxFile = min(cmp.Or(c.MaxFile, DefaultMaxFile), hashline.MaxSize)
	c.MaxRequest = cmp.Or(c.MaxRequest, DefaultMaxRequest)
	c.ReadTokens = cmp.Or(c.ReadTokens, DefaultReadTokens)
	c.RootsWait = cmp.Or(c.RootsWait, DefaultRootsWait)
	c.TagWidth = cmp.Or(c.TagWidth, hashline.MinWidth)
	if c.TagWidth < hashline.MinWidth || c.TagWidth > hashline.MaxWidth {
		return nil, errors.New("tags have 2, 3 or 4 digits: give one of these as --tag-width")
	}
	for _, limit := range []struct {
		flag  string
		value int64
	}{{"--max-file", c.MaxFile}, {"--max-request", int64(c.MaxRequest)}, {"--read-tokens", int64(c.ReadTokens)},
		{"--max-relocation", int64(c.MaxMove)}, {"the wait for roots", int64(c.RootsWait)}} {
		if limit.value < 0 {
			return nil, fmt.Errorf("%s is negative: give a number above 0, or leave it out", limit.flag)
		}
	}
	source, err := place.NewSource(c.Roots, c.RootsWait)
	if err != nil {
		return nil, err
	}
	s := &Server{c: c, roots: source,
		engine: engine.New(engine.Options{ReadOnly: c.ReadOnly, HardLinks: c.HardLinks, Locks: c.Locks,
			MaxFile: c.MaxFile,
			Anchors: hashline.Options{Width: c.TagWidth, Exact: c.ExactAnchors, Reach: c.MaxMove}})}
	s.offered = s.offer()
	if !c.ReadOnly {
		for _, message := range s.engine.Leftovers() {
			cmp.Or(c.Logger, slog.Default()).Warn(message)
		}
	}
	return s, nil
}

// Run serves one client until it closes in, or ctx ends.
func (s *Server) Run(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	served := &stdio.Server{Name: "hashfile", Title: "Hashfile", Version: s.c.Version, Instructions: instructions,
		MaxMessage: s.c.MaxRequest, Call: s.call, Unknown: s.refuseUnknown, RootsChanged: s.roots.NoteChange}
	for _, name := range s.names() {
		served.Tools = append(served.Tools, s.offered[name].Tool)
	}
	return stdio.Serve(ctx, served, in, out)
}

// Close releases the allowed directories. No call may be running.
func (s *Server) Close() { s.roots.Close() }
