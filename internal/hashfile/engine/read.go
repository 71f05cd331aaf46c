package engine

import (
	"bytes"
	"context"
	"io"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/hashline"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
)

// Facts are what a reader is told about a text file besides its lines.
type Facts struct {
	Hash         digest.Digest // of its bytes
	Lines        int
	LineEnding   string // lf, crlf, mixed or none
	FinalNewline bool
	Encoding     string // utf-8 or utf-8-bom
	LoneReturns  int    // carriage returns within lines
}

// factsOf returns the facts of a file that was surveyed whole.
func factsOf(survey *hashline.Survey, hash digest.Digest) Facts {
	return Facts{Hash: hash, Lines: survey.Lines(), LineEnding: survey.LineEnding(),
		FinalNewline: survey.FinalNewline(), Encoding: survey.Encoding(), LoneReturns: survey.LoneReturns()}
}

// ReadRequest asks for a text file or for lines of it.
type ReadRequest struct {
	Path     string
	First    int // line, from 1; 0 is the first
	Last     int // line; 0 is the last of the file
	MaxLines int // 0 is no limit
	MaxBytes int // of the lines, without tags; 0 is no limit
	// MaxTokens is what the lines may cost a model, about; 0 is no limit. The first line is given whatever it costs.
	MaxTokens int
}

// Reading is a text file, or lines of it, as it was read.
type Reading struct {
	Facts
	Text        []byte // the lines, with their endings; nobody changes it
	First, Last int    // their numbers; 0 if there are none
	Cut         bool   // a limit ended them before the last one that was asked for
}

// check fails if the lines are no range. A last line of 0 is not given.
func (in ReadRequest) check() error {
	switch {
	case in.MaxBytes < 0:
		return place.Refuse(hashline.Invalid, "max_bytes is %d; give the number of bytes wanted, or leave it out",
			in.MaxBytes)
	case in.First < 0:
		return place.Refuse(hashline.Invalid, "start_line is %d; lines are counted from 1, and total_lines is the last",
			in.First)
	case in.Last < 0:
		return place.Refuse(hashline.Invalid, "end_line is %d; lines are counted from 1; leave it out to read to "+
			"the end",
			in.Last)
	case in.Last > 0 && in.Last < in.First:
		return place.Refuse(hashline.Invalid, "lines %d to %d are no range; give start_line %d and end_line %d if the "+
			"lines between are meant", in.First, in.Last, in.Last, in.First)
	}
	return nil
}

// Read reads a text file. A line that does not fit into MaxBytes by itself is refused, as is a range behind the end.
func (e *Engine) Read(ctx context.Context, sc *place.Scope, in ReadRequest) (*Reading, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	survey := &hashline.Survey{First: max(in.First, 1), Last: in.Last, MaxLines: in.MaxLines,
		MaxBytes: int(min(int64(in.MaxBytes), e.o.MaxFile))}
	p, err := place.Resolve(sc, in.Path)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	hash, err := e.reader.Survey(ctx, p, survey)
	if err != nil {
		return nil, err
	}
	e.reader.NoteShown(hash)
	kept, lines, full := survey.Kept()
	out := &Reading{Facts: factsOf(survey, hash), Text: kept, Cut: full}
	switch {
	case full && lines == 0:
		return nil, place.Refuse(hashline.TooLarge,
			"line %d of %s alone has more than %d bytes; to read it all the same give start_line %d, end_line %d and "+
				"max_bytes %d", survey.First, place.Show(in.Path), survey.MaxBytes, survey.First, survey.First,
			survey.Size())
	case survey.Lines() > 0 && survey.First > survey.Lines():
		return nil, place.Refuse(hashline.Invalid, "%s has %d lines; there is no line %d. Give a start_line "+
			"of 1 to %d", place.Show(in.Path), survey.Lines(), survey.First, survey.Lines())
	case lines > 0:
		if n, size := linesWithin(kept, in.MaxTokens); in.MaxTokens > 0 && n < lines && lines > 1 {
			if n == 0 {
				n, size = 1, bytes.IndexByte(kept, '\n')+1
			}
			lines, out.Text, out.Cut = n, kept[:size], true
		}
		out.First, out.Last = survey.First, survey.First+lines-1
	}
	return out, nil
}

// WriteTagged writes the lines of a reading to w as a reader is shown them, in pieces.
func (e *Engine) WriteTagged(w io.Writer, r *Reading) error {
	return e.reader.WriteTagged(w, r.Text, r.First, e.o.Anchors.Width)
}

// AppendTagged appends the lines of a reading to dst as a reader is shown them.
func (e *Engine) AppendTagged(dst []byte, r *Reading) []byte {
	return hashline.AppendLines(dst, r.Text, r.First, e.o.Anchors.Width)
}
