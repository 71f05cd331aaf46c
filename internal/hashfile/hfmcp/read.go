package hfmcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/hallmark-mcp/hallmark/hashline"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/engine"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/refusal"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/roots"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/texts"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/toolset"
)

type readArguments struct {
	Path      string `json:"path" about:"file to read"`
	StartLine int    `json:"start_line,omitempty" about:"first line, from 1"`
	EndLine   int    `json:"end_line,omitempty" about:"last line"`
}

func (d *dialect) readTextFile(ctx context.Context, sc *roots.Scope, in readArguments) (*toolset.Answer, error) {
	r, err := d.engine.Read(ctx, sc, engine.ReadRequest{Path: in.Path, First: in.StartLine, Last: in.EndLine})
	if err != nil {
		return nil, err
	}
	header := metadata(r.Facts, r.First, r.Last)
	if len(r.Text) > texts.Large {
		return &toolset.Answer{Text: header, Write: func(w io.Writer) error { return d.engine.WriteTagged(w, r) }}, nil
	}
	return &toolset.Answer{Text: string(d.engine.AppendTagged([]byte(header), r))}, nil
}

// metadata returns the first line of a file's tagged text, of which the lines from first to last follow.
func metadata(f engine.Facts, first, last int) string {
	part := ""
	if first > 1 || last > 0 && last < f.Lines {
		part = fmt.Sprintf(", displaying_lines=%d-%d", first, last)
	}
	return fmt.Sprintf("[Metadata: total_lines=%d, file_hash=%s%s]\n", f.Lines, hashOf(f), part)
}

// hashOf returns the abbreviated hash of a file, without the name of its algorithm.
func hashOf(f engine.Facts) string {
	_, digits, _ := strings.Cut(engine.Abbreviate(f.Hash), ":")
	return digits
}

type rawArguments struct {
	Path string `json:"path" about:"file to read"`
}

func (d *dialect) readFile(ctx context.Context, sc *roots.Scope, in rawArguments) (*toolset.Answer, error) {
	r, err := d.engine.Read(ctx, sc, engine.ReadRequest{Path: in.Path})
	if err != nil {
		return nil, err
	}
	return &toolset.Answer{Text: string(r.Text)}, nil
}

type readMultipleArguments struct {
	Paths   []string `json:"paths" about:"files to read"`
	ForEdit bool     `json:"for_edit,omitempty" about:"with tags, as read_text_file; without is the default"`
}

// fileResult is what reading one of several files gave.
type fileResult struct {
	Path    string  `json:"path"`
	Content *string `json:"content,omitempty"`
	Error   string  `json:"error,omitempty"`
	Success bool    `json:"success"`
}

// maxPaths is how many files one call may read.
const maxPaths = 1000

func (d *dialect) readMultipleFiles(
	ctx context.Context, sc *roots.Scope, in readMultipleArguments,
) (*toolset.Answer, error) {
	if len(in.Paths) > maxPaths {
		return nil, refusal.New(hashline.Invalid, "paths are %d files; give at most %d", len(in.Paths), maxPaths)
	}
	all, left := []fileResult{}, d.engine.MaxFile()
	for _, path := range in.Paths {
		content, err := d.readOne(ctx, sc, path, in.ForEdit)
		if err == nil && int64(len(content)) > left {
			err = refusal.New(hashline.TooLarge, "the files together are too large for one answer; read it by itself")
		}
		if err != nil {
			all = append(all, fileResult{Path: path, Error: refusal.Of(path, err).Message})
			continue
		}
		left -= int64(len(content))
		all = append(all, fileResult{Path: path, Content: &content, Success: true})
	}
	var text bytes.Buffer
	out := json.NewEncoder(&text)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	if err := out.Encode(all); err != nil {
		return nil, err
	}
	return &toolset.Answer{Text: strings.TrimSuffix(text.String(), "\n")}, nil
}

// readOne returns a file as it is, or for editing.
func (d *dialect) readOne(ctx context.Context, sc *roots.Scope, path string, forEdit bool) (string, error) {
	r, err := d.engine.Read(ctx, sc, engine.ReadRequest{Path: path})
	switch {
	case err != nil:
		return "", err
	case forEdit:
		return string(d.engine.AppendTagged([]byte(metadata(r.Facts, r.First, r.Last)), r)), nil
	}
	return string(r.Text), nil
}
