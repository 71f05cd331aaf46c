package hashfile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/hallmark-mcp/hallmark/hashline"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/refusal"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/roots"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/rules"
)

type searchArguments struct {
	Pattern    string `json:"pattern" jsonschema:"regular expression, RE2 syntax, matched against each line"`
	Path       string `json:"path,omitempty" jsonschema:"directory or file to search; all allowed directories if it is left out"`
	Glob       string `json:"glob,omitempty" jsonschema:"only files that match, such as *.go or src/**/*.ts"`
	IgnoreCase bool   `json:"ignore_case,omitempty"`
	Context    int    `json:"context,omitempty" jsonschema:"lines to show before and after each hit, up to 10"`
	MaxResults int    `json:"max_results,omitempty" jsonschema:"most hits, 100 if it is left out, up to 1000"`
}

// Bounds of a search.
const (
	searchTime    = 30 * time.Second
	maxSearchFile = 16 << 20  // bytes; larger files are not searched
	searchAnswer  = 256 << 10 // bytes of text
	maxPattern    = 1000      // bytes
	searchContext = 10
)

// fileHits are the hits in one file.
type fileHits struct {
	Path     string   `json:"path"`
	FileHash string   `json:"file_hash"`
	Hits     []int    `json:"hits"`  // line numbers
	Lines    []string `json:"lines"` // tagged, with context
}

func (s *Server) searchFiles(ctx context.Context, sc *roots.Scope, in searchArguments) (*answer, error) {
	pattern := in.Pattern
	if in.IgnoreCase {
		pattern = "(?i:" + pattern + ")"
	}
	re, err := regexp.Compile(pattern)
	switch {
	case in.Pattern == "" || len(in.Pattern) > maxPattern:
		return nil, refusal.New(hashline.Invalid, "pattern has %d bytes; give 1 to %d", len(in.Pattern), maxPattern)
	case err != nil:
		return nil, refusal.New(hashline.Invalid, "pattern is no regular expression of RE2: %s",
			refusal.Show(err.Error()))
	}
	var only *rules.Glob
	if in.Glob != "" {
		g, ok := rules.NewGlob(in.Glob, false)
		if !ok {
			return nil, refusal.New(hashline.Invalid, "glob %s is none", refusal.Show(in.Glob))
		}
		only = &g
	}
	if in.Context < 0 || in.Context > searchContext || in.MaxResults < 0 || in.MaxResults > 1000 {
		return nil, refusal.New(hashline.Invalid, "context is 0 to %d and max_results 1 to 1000", searchContext)
	}
	ctx, cancel := context.WithTimeout(ctx, searchTime)
	defer cancel()
	search := &search{s: s, re: re, only: only, context: in.Context, left: cmp.Or(in.MaxResults, 100),
		found: []fileHits{}}
	paths := []string{in.Path}
	if in.Path == "" {
		all := sc.Directories()
		paths = slices.DeleteFunc(slices.Clone(all), func(dir string) bool { // those that are searched with another one
			return slices.ContainsFunc(all, func(other string) bool {
				_, ok := roots.CutDir(other, dir)
				return ok && other != dir
			})
		})
	}
	for _, path := range paths {
		if err = search.searchPath(ctx, sc, path); err != nil {
			break
		}
	}
	cut := errors.Is(err, errEnough) || errors.Is(err, context.DeadlineExceeded)
	if err != nil && !cut {
		return nil, refusal.Of(in.Path, err)
	}
	var text strings.Builder
	hits := 0
	for _, f := range search.found {
		fmt.Fprintf(&text, "==> %s <==\n[file_hash=%s]\n", refusal.Show(f.Path), f.FileHash)
		for _, line := range f.Lines {
			text.WriteString(line + "\n")
		}
		hits += len(f.Hits)
	}
	fmt.Fprintf(&text, "[%d hits in %d files", hits, len(search.found))
	if cut {
		text.WriteString("; there may be more")
	}
	text.WriteString("]\n")
	return &answer{text: text.String(), structure: map[string]any{"files": search.found, "truncated": cut}}, nil
}

// search is one search, with what it has found so far.
type search struct {
	s       *Server
	re      *regexp.Regexp
	only    *rules.Glob
	context int
	left    int // hits that may still be found
	size    int // bytes of lines so far
	found   []fileHits
}

// searchPath searches a file, or what is below a directory.
func (q *search) searchPath(ctx context.Context, sc *roots.Scope, asked string) error {
	p, err := place.Resolve(sc, asked)
	if err != nil {
		return err
	}
	defer p.Close()
	if err := p.CheckExists(); err != nil {
		return err
	}
	if !p.Info.IsDir() {
		return q.searchFile(ctx, p)
	}
	dir, sets, err := p.OpenDirectory()
	if err != nil {
		return err
	}
	defer dir.Close()
	return p.Walk(ctx, dir, sets, func(dir *os.Root, rel string, e fs.DirEntry, sets rules.Sets) error {
		if !e.Type().IsRegular() {
			return nil
		}
		local := rel
		if p.Rel != "." {
			local = strings.TrimPrefix(rel, p.Rel+"/")
		}
		if q.only != nil && !q.only.Matches(local, false) {
			return nil
		}
		info, err := dir.Lstat(e.Name())
		if err != nil {
			return nil // removed meanwhile
		}
		if info.Size() > maxSearchFile {
			return nil
		}
		err = q.searchFile(ctx, p.Below(dir, rel, info, sets))
		if errors.As(err, new(*refusal.Refusal)) {
			return nil // binary, replaced, not readable
		}
		return err
	})
}

// searchFile searches a file. It returns errEnough when there are enough hits.
func (q *search) searchFile(ctx context.Context, p *place.Place) error {
	now, err := q.s.reader.Read(ctx, p)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return err
	}
	if !q.re.Match(now.Data) && !strings.ContainsAny(q.re.String(), "^$\\") { // most files, at once
		return nil
	}
	f, err := hashline.Parse(now.Data)
	if err != nil {
		return refusal.Of(p.Asked, err)
	}
	var hits []int
	for n := 1; n <= f.Lines() && q.left > 0; n++ {
		if q.re.Match(f.Line(n)) {
			hits = append(hits, n)
			q.left--
		}
	}
	if len(hits) == 0 {
		return nil
	}
	q.s.reader.Remember(p, now.Hash, now.Data)
	out := fileHits{Path: p.Real(), FileHash: now.Hash.String(), Lines: []string{}}
	last := 0
	for _, n := range hits {
		for i := max(n-q.context, last+1); i <= min(n+q.context, f.Lines()); i++ {
			line := f.AppendLines(nil, i, i, q.s.c.TagWidth)
			if q.size += len(line); q.size > searchAnswer {
				if len(out.Hits) > 0 {
					q.found = append(q.found, out)
				}
				return errEnough
			}
			out.Lines = append(out.Lines, strings.TrimSuffix(string(line), "\n"))
			last = i
		}
		out.Hits = append(out.Hits, n)
	}
	q.found = append(q.found, out)
	if q.left == 0 {
		return errEnough
	}
	return nil
}
