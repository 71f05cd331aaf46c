package hashfile

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/hallmark-mcp/hallmark/hashline"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/refusal"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/roots"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/texts"
)

type readArguments struct {
	Path      string `json:"path" jsonschema:"file to read; absolute, or relative to the only allowed directory"`
	StartLine int    `json:"start_line,omitempty" jsonschema:"first line wanted, from 1"`
	EndLine   int    `json:"end_line,omitempty" jsonschema:"last line wanted"`
	MaxBytes  int    `json:"max_bytes,omitempty" jsonschema:"most bytes of content to give, in place of the usual limits"`
}

func (s *Server) readTextFile(ctx context.Context, sc *roots.Scope, in readArguments) (*answer, error) {
	if in.StartLine < 0 || in.EndLine < 0 || in.MaxBytes < 0 || in.EndLine > 0 && in.EndLine < in.StartLine {
		return nil, refusal.New(hashline.Invalid, "start_line %d, end_line %d and max_bytes %d are no range of lines",
			in.StartLine, in.EndLine, in.MaxBytes)
	}
	survey := &hashline.Survey{First: max(in.StartLine, 1), Last: in.EndLine, MaxLines: s.c.ReadLines,
		MaxBytes: s.c.ReadBytes}
	if in.MaxBytes > 0 {
		survey.MaxLines, survey.MaxBytes = 0, int(min(int64(in.MaxBytes), s.c.MaxFile))
	}
	p, err := place.Resolve(sc, in.Path)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	hash, err := s.reader.Survey(ctx, p, survey)
	if err != nil {
		return nil, err
	}
	kept, lines, full := survey.Kept()
	if full && lines == 0 {
		return nil, refusal.New(hashline.TooLarge,
			"line %d of %s alone has more than %d bytes; ask for more with max_bytes",
			survey.First, refusal.Show(in.Path), survey.MaxBytes)
	}
	if survey.Lines() > 0 && survey.First > survey.Lines() {
		return nil, refusal.New(hashline.Invalid, "%s has %d lines; there is no line %d", refusal.Show(in.Path),
			survey.Lines(),
			survey.First)
	}
	facts := fileFacts{TotalLines: survey.Lines(), FileHash: hash, LineEnding: survey.LineEnding(),
		FinalNewline: survey.FinalNewline(), Encoding: survey.Encoding(), Truncated: full}
	header := fmt.Sprintf("[file_hash=%s %s", hash, lineCount(facts.TotalLines))
	if lines > 0 {
		facts.StartLine, facts.EndLine = survey.First, survey.First+lines-1
		if lines < facts.TotalLines {
			header += fmt.Sprintf(" lines=%d-%d", facts.StartLine, facts.EndLine)
		}
	}
	if full {
		facts.NextStartLine = facts.EndLine + 1
		header += fmt.Sprintf(" next_start_line=%d", facts.NextStartLine)
	}
	header += "]\n"
	if len(kept) > texts.Large {
		return &answer{text: header,
			write:     func(w io.Writer) error { return s.reader.WriteTagged(w, kept, survey.First, s.c.TagWidth) },
			structure: facts}, nil
	}
	return &answer{text: string(hashline.AppendLines([]byte(header), kept, survey.First, s.c.TagWidth)),
		structure: facts}, nil
}

type readMultipleArguments struct {
	Paths []string `json:"paths" jsonschema:"files to read"`
}

// maxPaths is how many files one call may read.
const maxPaths = 100

// fileResult is the structure of one of several files: its facts, or the refusal of its path.
type fileResult struct {
	Path string `json:"path"`
	*fileFacts
	Error *refusal.Refusal `json:"error,omitempty"`
}

func (s *Server) readMultipleFiles(ctx context.Context, sc *roots.Scope, in readMultipleArguments) (*answer, error) {
	if len(in.Paths) == 0 || len(in.Paths) > maxPaths {
		return nil, refusal.New(hashline.Invalid, "paths are %d files; give 1 to %d", len(in.Paths), maxPaths)
	}
	files := []fileResult{}
	var text strings.Builder
	for _, path := range in.Paths {
		result := fileResult{Path: path}
		fmt.Fprintf(&text, "==> %s <==\n", refusal.Show(path))
		if a, err := s.readTextFile(ctx, sc, readArguments{Path: path}); err != nil {
			result.Error = refusal.Of(path, err)
			fmt.Fprintf(&text, "error %s: %s\n", result.Error.Code, result.Error.Message)
		} else {
			facts := a.structure.(fileFacts)
			result.fileFacts = &facts
			text.WriteString(a.text)
			if a.write != nil {
				if err := a.write(&text); err != nil {
					return nil, err
				}
			}
		}
		text.WriteByte('\n')
		files = append(files, result)
	}
	return &answer{text: text.String(), structure: map[string]any{"files": files}}, nil
}
