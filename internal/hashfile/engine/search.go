package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/hashline"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
)

// SearchRequest asks for the lines of files that match a pattern, or for the files themselves.
type SearchRequest struct {
	Pattern *regexp.Regexp        // nil asks for files, and not for lines
	Path    string                // a file or directory; "" is all allowed directories
	Only    func(rel string) bool // files, by their path from there; nil is all
	Skip    func(rel string) bool // directories that are left out, in the same way; nil is none
	Context int                   // lines before and after each hit
	Limit   int                   // hits, or files
	Tokens  int                   // that the lines may cost a model, about; 0 is no limit
	Unshown bool                  // nobody is shown what is found, so that it counts as read by nobody
}

// Hits are the lines of one file that match.
type Hits struct {
	Path  string // absolute, or from the only allowed directory if the path that was asked for is not absolute
	Hash  digest.Digest
	Count int // of all lines that match
	Lines []HitLine
}

// HitLine is a line of a file, for which there is room in the answer.
type HitLine struct {
	Text  string // tagged; a long one is cut around the hit
	Match bool   // it matches, and is not one around it
}

// Found is what a search found.
type Found struct {
	Files    []Hits // those without lines have no room in the answer
	Searched int    // files
	Cut      string // why the search ended early; "" if it did not
	Passed   []Passed
}

// Count returns how many lines match.
func (f *Found) Count() (n int) {
	for _, hits := range f.Files {
		n += hits.Count
	}
	return n
}

// Bounds of a search.
const (
	searchTime   = 30 * time.Second
	searchAnswer = 44 << 10 // bytes of lines and names: with what else is told, less than 16,000 tokens of four
)

// Search searches text files. What it does not search it names: files that are not UTF-8 or are too large, what rules
// or .gitignore ignore, and what cannot be read. When there is no more room for lines, hits are only counted.
func (e *Engine) Search(ctx context.Context, sc *place.Scope, in SearchRequest) (*Found, error) {
	ctx, cancel := context.WithTimeout(ctx, searchTime)
	defer cancel()
	q := &search{SearchRequest: in, e: e, left: in.Limit, relative: !filepath.IsAbs(in.Path) &&
		len(sc.Directories()) == 1}
	paths, err := e.searchPaths(sc, in.Path)
	for i := 0; i < len(paths) && err == nil; i++ {
		err = q.searchPath(ctx, sc, paths[i])
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		q.found.Cut = fmt.Sprintf("the search ended after %v", searchTime)
	case errors.Is(err, place.ErrTooMany):
		q.found.Cut = place.ErrTooMany.Message
	case err != nil:
		return nil, place.RefusalOf(in.Path, err)
	}
	q.found.Passed = q.passed.all
	return &q.found, nil
}

// search is one search, with what it has found so far.
type search struct {
	SearchRequest
	e        *Engine
	relative bool // paths are given from the allowed directory
	left     int  // hits for which there is room
	size     int  // bytes of lines so far
	tokens   int  // of them, estimated
	found    Found
	passed   passedOver
}

// searchPath searches a file, or what is below a directory.
func (q *search) searchPath(ctx context.Context, sc *place.Scope, asked string) error {
	p, err := place.Resolve(sc, asked)
	if err != nil {
		return err
	}
	defer p.Close()
	if err := p.CheckExists(); err != nil {
		return err
	}
	if !p.Info.IsDir() {
		return q.searchNamed(ctx, p)
	}
	dir, sets, err := p.OpenDirectory()
	if err != nil {
		return err
	}
	defer dir.Close()
	return p.Walk(ctx, dir, sets, func(dir *os.Root, rel string, e fs.DirEntry, sets place.RuleSets) error {
		if e.IsDir() {
			if q.skips(p, rel) {
				return fs.SkipDir
			}
			return nil
		}
		if q.Only != nil && !q.Only(below(p, rel)) {
			return nil
		}
		if q.Pattern != nil && !e.Type().IsRegular() {
			q.pass(p, rel, false, place.Kind(e.Type()))
			return nil
		}
		info, err := dir.Lstat(e.Name())
		if err != nil {
			return nil // removed meanwhile
		}
		err = q.searchFile(ctx, p.Below(dir, rel, info, sets))
		if why := whyPassed(err); why != "" {
			q.pass(p, rel, false, why)
			return nil
		}
		return err
	}, func(rel string, dir bool, why string) {
		switch {
		case rel == "":
		case dir && q.skips(p, rel), !dir && q.Only != nil && !q.Only(below(p, rel)):
			return
		}
		q.pass(p, rel, dir, why)
	})
}

// skips reports whether a directory below p is left out.
func (q *search) skips(p *place.Place, rel string) bool {
	return q.Skip != nil && q.Skip(below(p, rel))
}

// pass notes that a path below p was not searched.
func (q *search) pass(p *place.Place, rel string, dir bool, why string) {
	if rel != "" {
		rel = q.name(p.Root, rel)
	}
	q.passed.add(rel, dir, why)
}

// name returns a path in an allowed directory as the answer has it.
func (q *search) name(root *place.Root, rel string) string {
	if q.relative {
		return rel
	}
	return filepath.Join(root.Path, filepath.FromSlash(rel))
}

// notText is the refusal of a file that is no text.
type notText struct {
	error
	binary bool // and is not in another encoding
}

// Unwrap returns the refusal.
func (n notText) Unwrap() error { return n.error }

// refuseNotText refuses a file that is not UTF-8 or holds NUL.
func (q *search) refuseNotText(p *place.Place, now Contents) error {
	_, err := hashline.Parse(now.Data)
	utf16 := bytes.HasPrefix(now.Data, []byte("\xff\xfe")) || bytes.HasPrefix(now.Data, []byte("\xfe\xff"))
	return notText{q.e.explain(p, now, nil, err), bytes.IndexByte(now.Data, 0) >= 0 && !utf16}
}

// whyPassed says in few words why a file was not searched; "" if err ends the search, or is nil.
func whyPassed(err error) string {
	var n notText
	var r *place.Refusal
	switch {
	case errors.As(err, &n) && n.binary:
		return binaryFile
	case errors.As(err, &n):
		return "not UTF-8"
	case !errors.As(err, &r):
		return ""
	case r.Code == hashline.TooLarge:
		return "too large (--max-file)"
	}
	return "cannot be read"
}

// searchNamed searches a file that the caller named, to which globs apply as well.
func (q *search) searchNamed(ctx context.Context, p *place.Place) error {
	if q.Only != nil && !q.Only(p.Rel) {
		return place.Refuse(hashline.Invalid, "path %s is a file, and the glob does not match it; leave the glob "+
			"out, or give a directory as path", place.Show(p.Asked))
	}
	return q.searchFile(ctx, p)
}

// searchFile searches a file, which is passed over if it is no text.
func (q *search) searchFile(ctx context.Context, p *place.Place) error {
	if q.Pattern == nil {
		q.found.Searched++
		if q.left--; q.left >= 0 {
			q.found.Files = append(q.found.Files, Hits{Path: q.name(p.Root, p.Rel)})
		}
		return nil
	}
	now, err := q.e.reader.Read(ctx, p)
	if err != nil {
		return err
	}
	if bytes.IndexByte(now.Data, 0) >= 0 || !utf8.Valid(now.Data) {
		return q.refuseNotText(p, now)
	}
	q.found.Searched++
	if may, err := q.mayMatch(ctx, now.Data); err != nil || !may {
		return err
	}
	f, err := hashline.Parse(now.Data)
	if err != nil {
		return q.e.explain(p, now, nil, err)
	}
	out := Hits{Path: q.name(p.Root, p.Rel), Hash: now.Hash}
	if err := q.searchLines(ctx, f, &out); err != nil || out.Count == 0 {
		return err
	}
	if len(out.Lines) > 0 && !q.Unshown {
		q.e.reader.Remember(p, now.Hash, now.Data)
		q.e.reader.NoteShown(now.Hash)
	}
	q.found.Files = append(q.found.Files, out)
	return nil
}

// searchLines finds the lines that match, and keeps those for which there is room.
func (q *search) searchLines(ctx context.Context, f *hashline.File, out *Hits) error {
	shown, until := 0, 0 // the last line that was kept, and the last one that belongs to a hit
	for n := 1; n <= f.Lines(); n++ {
		line := f.Line(n)
		if n == 1 { // the beginning of the text is behind the byte order mark
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		hit, err := q.matches(ctx, line)
		if err != nil {
			return err
		}
		if hit {
			out.Count++
			if q.left--; q.left < 0 {
				continue
			}
			for i := max(n-q.Context, shown+1); i < n; i++ {
				shown = q.keep(ctx, f, i, false, out)
			}
			until = n + q.Context
		}
		if n <= until && q.left >= 0 {
			shown = q.keep(ctx, f, n, hit, out)
		}
	}
	return nil
}

// keep keeps a line if there is room for it. After the first for which there is none, none is kept.
func (q *search) keep(ctx context.Context, f *hashline.File, n int, hit bool, out *Hits) int {
	if q.left < 0 {
		return n
	}
	line := f.Line(n)
	from := 0
	if hit && len(line) > maxWhole {
		if at := q.Pattern.FindReaderIndex(&runes{ctx: ctx, text: line}); at != nil {
			from = at[0]
		}
	}
	text := string(AppendCut([]byte(hashline.Anchor(n, line, q.e.TagWidth())+"|"), line, from))
	if len(out.Lines) == 0 {
		name := place.Show(out.Path)
		q.size += headerSize + len(name)
		q.tokens += headerSize/4 + estimateLine([]byte(name))
	}
	q.size += len(text) + markSize
	q.tokens += estimateLine([]byte(text))
	if q.size > searchAnswer || q.Tokens > 0 && q.tokens > q.Tokens {
		q.left = -1
		return n
	}
	out.Lines = append(out.Lines, HitLine{text, hit})
	return n
}

// What an answer has besides lines and names, in bytes.
const (
	headerSize = 40 // for each file: its hash, and signs around its name
	markSize   = 2  // for each line: its mark and its end
)

// Bounds of a line in the answer to a search, in bytes.
const (
	maxWhole  = 400 // of one that is not cut
	cutBefore = 80  // before the hit in one that is
	cutSize   = 240 // of one that is
)

// AppendCut appends a line or, if it is long, a part of it that begins before the offset from, and says how much is
// left out at either side.
func AppendCut(dst, line []byte, from int) []byte {
	if len(line) <= maxWhole {
		return append(dst, line...)
	}
	from = max(min(from-cutBefore, len(line)-cutSize), 0)
	to := from + cutSize
	for from > 0 && !utf8.RuneStart(line[from]) {
		from--
	}
	for to < len(line) && !utf8.RuneStart(line[to]) {
		to++
	}
	if from > 0 {
		dst = fmt.Appendf(dst, "[%d bytes cut]", from)
	}
	dst = append(dst, line[from:to]...)
	if to < len(line) {
		dst = fmt.Appendf(dst, "[%d bytes cut]", len(line)-to)
	}
	return dst
}

// searchPaths returns the paths that are searched for one that a caller gave: that one or, if it is "", the allowed
// directories but for those that lie in another one.
func (e *Engine) searchPaths(sc *place.Scope, path string) ([]string, error) {
	if path != "" {
		return []string{path}, nil
	}
	all, err := e.Directories(sc)
	return slices.DeleteFunc(slices.Clone(all), func(dir string) bool {
		return slices.ContainsFunc(all, func(other string) bool {
			_, ok := place.CutDir(other, dir)
			return ok && other != dir
		})
	}), err
}
