package hashfile

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/hallmark-mcp/hallmark/hashline"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/engine"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/stdio"
)

type searchArguments struct {
	Pattern    string   `json:"pattern,omitempty" about:"regular expression (RE2), for each line"`
	Path       string   `json:"path,omitempty" about:"file or directory; default: all allowed directories"`
	Glob       []string `json:"glob,omitempty" as:"string" about:"as *.{js,ts} or src/**/*.go,!*_test.go"`
	IgnoreCase bool     `json:"ignore_case,omitempty"`
	Context    int      `json:"context,omitempty" about:"lines around each hit, to 10"`
	MaxResults int      `json:"max_results,omitempty" about:"default 100"`
}

// Bounds of what a search is asked for, and of its answer.
const (
	maxContext = 10 // lines
	maxResults = 1000
	maxUnshown = 100     // files that are named with the number of their hits alone
	maxNamed   = 4 << 10 // bytes of their names
	maxPassed  = 1 << 10 // bytes of the names of what is passed over for one reason
)

func (s *Server) searchFiles(ctx context.Context, sc *place.Scope, in searchArguments) (*stdio.Result, error) {
	if in.Context < 0 || in.Context > maxContext || in.MaxResults < 0 || in.MaxResults > maxResults {
		return nil, place.Refuse(hashline.Invalid, "context is 0 to %d and max_results 1 to %d", maxContext, maxResults)
	}
	globs, err := parseGlobs(sc, in.Glob)
	if err != nil {
		return nil, err
	}
	ask := engine.SearchRequest{Path: in.Path, Context: in.Context, Limit: cmp.Or(in.MaxResults, 100),
		Tokens: s.c.ReadTokens}
	if globs != nil {
		ask.Only, ask.Skip = globs.take, globs.skip
	}
	if in.Pattern == "" && globs == nil {
		return nil, place.Refuse(hashline.Invalid, "give a pattern, to find lines, or a glob, to find files, or both")
	}
	if in.Pattern != "" {
		if ask.Pattern, err = parsePattern(in); err != nil {
			return nil, err
		}
	}
	found, err := s.engine.Search(ctx, sc, ask)
	if err != nil {
		return nil, err
	}
	var text strings.Builder
	if in.Pattern == "" {
		writeNames(&text, found)
	} else {
		writeHits(&text, found, in.Context > 0)
	}
	if found.Cut != "" {
		notices(&text, []string{found.Cut + "; there may be more"})
	}
	if found.Searched == 0 && globs != nil {
		notices(&text, []string{explainNoFiles(in)})
	}
	if len(found.Files) == 0 {
		why := explainNoHits(in)
		if literal := regexp.QuoteMeta(in.Pattern); why == nil && literal != in.Pattern {
			why = s.explainAsText(ctx, sc, in, ask, literal)
		}
		notices(&text, why)
	}
	writePassed(&text, "not searched", found.Passed)
	return &stdio.Result{Text: text.String()}, nil
}

// explainAsText says that a pattern which found nothing has hits if it is read as a text, if so. That is pattern
// quoted.
func (s *Server) explainAsText(
	ctx context.Context, sc *place.Scope, in searchArguments, ask engine.SearchRequest, quoted string,
) []string {
	in.Pattern = quoted
	var err error
	if ask.Pattern, err = parsePattern(in); err != nil {
		return nil
	}
	found, err := s.engine.Search(ctx, sc, ask)
	if err != nil || len(found.Files) == 0 {
		return nil
	}
	return []string{"as a text, and not as a regular expression, it stands here; to find that give " +
		showPattern(quoted)}
}

// writeNames writes the files that a search by name found.
func writeNames(text *strings.Builder, found *engine.Found) {
	shown := 0
	for ; shown < len(found.Files) && text.Len() <= maxListing; shown++ {
		text.WriteString(place.Show(found.Files[shown].Path) + "\n")
	}
	text.WriteString("[" + count(found.Searched, "file"))
	if shown < found.Searched {
		fmt.Fprintf(text, "; the first %d are given", shown)
	}
	text.WriteString("]\n")
}

// writeHits writes the lines that a search found, and in how many files there are others. If there are lines around
// hits, the hits are marked.
func writeHits(text *strings.Builder, found *engine.Found, marked bool) {
	hits, shown, rest := 0, 0, []engine.Hits{}
	for _, f := range found.Files {
		hits += f.Count
		if len(f.Lines) > 0 {
			fmt.Fprintf(text, "==> %s <==\n[file_hash=%s]\n", place.Show(f.Path), engine.Abbreviate(f.Hash))
		}
		for _, line := range f.Lines {
			switch {
			case line.Match && marked:
				text.WriteByte('>')
			case marked:
				text.WriteByte(' ')
			}
			if line.Match {
				shown++
				f.Count--
			}
			text.WriteString(line.Text + "\n")
		}
		if f.Count > 0 {
			rest = append(rest, f)
		}
	}
	fmt.Fprintf(text, "[%s in %s; %s searched", count(hits, "hit"), count(len(found.Files), "file"),
		count(found.Searched, "file"))
	if len(rest) > 0 {
		fmt.Fprintf(text, "; the first %d shown; not shown:", shown)
		writeUnshown(text, rest)
	}
	text.WriteString("]\n")
}

// writeUnshown writes how many hits of files are not shown, and sums up the last of many.
func writeUnshown(text *strings.Builder, rest []engine.Hits) {
	limit := text.Len() + maxNamed
	for i, f := range rest {
		comma := []string{"", ","}[min(i, 1)]
		if i == maxUnshown || text.Len() > limit {
			hits := 0
			for _, f := range rest[i:] {
				hits += f.Count
			}
			fmt.Fprintf(text, "%s %d in %s", comma, hits, count(len(rest)-i, "other file"))
			return
		}
		fmt.Fprintf(text, "%s %d in %s", comma, f.Count, place.Show(f.Path))
	}
}

// count names a number of things.
func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// writePassed writes what was not looked at, a line for each reason.
func writePassed(text *strings.Builder, what string, all []engine.Passed) {
	for _, p := range all {
		fmt.Fprintf(text, "[%s: %s", what, p.Why)
		named, limit := 0, text.Len()+maxPassed
		for ; named < len(p.Paths) && text.Len() < limit; named++ {
			text.WriteString([]string{": ", ", "}[min(named, 1)] + place.Show(p.Paths[named]))
		}
		if more := p.Count - named; more > 0 && named > 0 {
			fmt.Fprintf(text, " and %d more", more)
		}
		text.WriteString("]\n")
	}
}
