package engine

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/hashline"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/refusal"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/roots"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/rules"
)

// SearchRequest asks for the lines of files that match a pattern.
type SearchRequest struct {
	Pattern *regexp.Regexp
	Path    string      // a file or directory; "" is all allowed directories
	Only    rules.Globs // of paths from there; nil is all
	Context int         // lines before and after each hit
	Limit   int         // hits
	Tokens  int         // that the lines may cost a model, about; 0 is no limit
}

// Hits are the hits in one file.
type Hits struct {
	Path    string
	Hash    digest.Digest
	Numbers []int    // of the lines that match
	Lines   []string // tagged, with context
}

// Found is what a search found.
type Found struct {
	Files []Hits
	Cut   bool // there may be more
}

// Bounds of a search.
const (
	searchTime    = 30 * time.Second
	maxSearchFile = 16 << 20  // bytes; larger files are not searched
	searchAnswer  = 256 << 10 // bytes of text
)

// Search searches text files. Binary files and those that are larger than 16 MiB are passed over, as is what rules or
// .gitignore ignore.
func (e *Engine) Search(ctx context.Context, sc *roots.Scope, in SearchRequest) (*Found, error) {
	ctx, cancel := context.WithTimeout(ctx, searchTime)
	defer cancel()
	search := &search{SearchRequest: in, e: e, left: in.Limit}
	var err error
	for _, path := range searchPaths(sc, in.Path) {
		if err = search.searchPath(ctx, sc, path); err != nil {
			break
		}
	}
	cut := errors.Is(err, errEnough) || errors.Is(err, context.DeadlineExceeded)
	if err != nil && !cut {
		return nil, refusal.Of(in.Path, err)
	}
	return &Found{Files: search.found, Cut: cut}, nil
}

// search is one search, with what it has found so far.
type search struct {
	SearchRequest
	e      *Engine
	left   int // hits that may still be found
	size   int // bytes of lines so far
	tokens int // of them, estimated
	found  []Hits
	named  bool // the file that is searched is the path itself: that it is no text is said
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
		q.named = true
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
		if q.Only != nil && !q.Only.Matches(below(p, rel), false) {
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
	now, err := q.e.reader.Read(ctx, p)
	if err != nil {
		return err
	}
	if !q.named { // most files, at once; of one that the caller named, it is said if it is binary
		if may, err := q.mayMatch(ctx, now.Data); err != nil || !may {
			return err
		}
	}
	f, err := hashline.Parse(now.Data)
	if err != nil {
		return q.e.explain(p, now, nil, err)
	}
	var hits []int
	for n := 1; n <= f.Lines() && q.left > 0; n++ {
		hit, err := q.matches(ctx, f.Line(n))
		if err != nil {
			return err
		}
		if hit {
			hits = append(hits, n)
			q.left--
		}
	}
	if len(hits) == 0 {
		return nil
	}
	q.e.reader.Remember(p, now.Hash, now.Data)
	q.e.reader.NoteShown(now.Hash)
	out := Hits{Path: p.Real(), Hash: now.Hash}
	last := 0
	for _, n := range hits {
		for i := max(n-q.Context, last+1); i <= min(n+q.Context, f.Lines()); i++ {
			line := f.AppendLines(nil, i, i, q.e.TagWidth())
			q.size += len(line)
			q.tokens += EstimateTokens(line)
			if q.size > searchAnswer || q.Tokens > 0 && q.tokens > q.Tokens {
				if len(out.Numbers) > 0 {
					q.found = append(q.found, out)
				}
				return errEnough
			}
			out.Lines = append(out.Lines, strings.TrimSuffix(string(line), "\n"))
			last = i
		}
		out.Numbers = append(out.Numbers, n)
	}
	q.found = append(q.found, out)
	if q.left == 0 {
		return errEnough
	}
	return nil
}
