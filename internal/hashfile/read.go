package hashfile

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/hallmark-mcp/hallmark/hashline"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/engine"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/stdio"
)

// limits bound the answer to a read that asks for no number of bytes.
type limits struct {
	lines  int
	bytes  int
	tokens int // estimated, of lines with their tags
}

// Limits of an answer to a read, unless max_bytes is given.
const (
	readLines = 2000
	readBytes = 256 << 10
)

// largeText is the size, in bytes of a file, from which lines are tagged while they are written to the client.
const largeText = 64 << 10

type readArguments struct {
	Path      string `json:"path"`
	StartLine int    `json:"start_line,omitempty" about:"first line, from 1"`
	EndLine   int    `json:"end_line,omitempty" about:"last line"`
	MaxBytes  int    `json:"max_bytes,omitempty" about:"bytes to give, in place of the usual limits"`
}

func (s *Server) readTextFile(ctx context.Context, sc *place.Scope, in readArguments) (*stdio.Result, error) {
	ask := engine.ReadRequest{Path: in.Path, First: in.StartLine, Last: in.EndLine, MaxLines: readLines,
		MaxBytes: readBytes, MaxTokens: s.c.ReadTokens}
	if in.MaxBytes != 0 {
		ask.MaxLines, ask.MaxBytes, ask.MaxTokens = 0, in.MaxBytes, 0
	}
	r, err := s.engine.Read(ctx, sc, ask)
	if err != nil {
		return nil, err
	}
	header := readHeader(r)
	if len(r.Text) > largeText {
		return &stdio.Result{Text: header, Write: func(w io.Writer) error { return s.engine.WriteTagged(w, r) }}, nil
	}
	return &stdio.Result{Text: string(s.engine.AppendTagged([]byte(header), r))}, nil
}

// readHeader returns the first line of the answer to a read: what a model needs for an edit and to read on, and what
// is unusual about the file.
func readHeader(r *engine.Reading) string {
	header := factsHeader(r.Facts)
	if r.First > 0 && (r.First > 1 || r.Last < r.Lines) {
		header += fmt.Sprintf(" lines=%d-%d", r.First, r.Last)
	}
	if r.Cut {
		header += fmt.Sprintf(" next_start_line=%d", r.Last+1)
	}
	return "[" + header + "]\n"
}

// factsHeader returns the part of a header that speaks of the whole file. Lines that end with a line feed, all of
// them, in UTF-8 without a byte order mark, are not mentioned.
func factsHeader(f engine.Facts) string {
	header := fmt.Sprintf("file_hash=%s total_lines=%d", engine.Abbreviate(f.Hash), f.Lines)
	if f.LineEnding == "crlf" || f.LineEnding == "mixed" {
		header += " line_ending=" + f.LineEnding
	}
	if f.Lines > 0 && !f.FinalNewline {
		header += " final_newline=false"
	}
	if f.Encoding != "utf-8" {
		header += " encoding=" + f.Encoding
	}
	if f.LoneReturns > 0 {
		header += fmt.Sprintf(" carriage_returns_within_lines=%d", f.LoneReturns)
	}
	return header
}

type readMultipleArguments struct {
	Paths []string `json:"paths"`
}

// maxPaths is how many files one call may read.
const maxPaths = 100

func (s *Server) readMultipleFiles(
	ctx context.Context, sc *place.Scope, in readMultipleArguments,
) (*stdio.Result, error) {
	if len(in.Paths) == 0 || len(in.Paths) > maxPaths {
		return nil, place.Refuse(hashline.Invalid, "paths are %d files; give 1 to %d", len(in.Paths), maxPaths)
	}
	var text strings.Builder
	left := limits{readLines, readBytes, s.c.ReadTokens}
	for _, path := range in.Paths {
		fmt.Fprintf(&text, "==> %s <==\n", place.Show(path))
		ask := engine.ReadRequest{Path: path, MaxLines: left.lines, MaxBytes: left.bytes, MaxTokens: left.tokens}
		r, err := s.engine.Read(ctx, sc, ask)
		if err != nil {
			problem := place.RefusalOf(path, err)
			fmt.Fprintf(&text, "error %s: %s\n\n", problem.Code, problem.Message)
			continue
		}
		text.WriteString(readHeader(r))
		text.Write(s.engine.AppendTagged(nil, r))
		text.WriteByte('\n')
		left.take(r)
	}
	return &stdio.Result{Text: text.String()}, nil
}

// take takes a reading from what an answer may still hold. A little is always left, so that each file of several shows
// its first lines.
func (l *limits) take(r *engine.Reading) {
	const least = 20
	l.lines = max(l.lines-(r.Last-r.First+1), least)
	l.bytes = max(l.bytes-len(r.Text), 100*least)
	l.tokens = max(l.tokens-engine.EstimateTokens(r.Text), 10*least)
}
