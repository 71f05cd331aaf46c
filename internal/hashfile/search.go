package hashfile

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"time"

	"github.com/hallmark-mcp/hallmark/hashline"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/engine"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/stdio"
	"github.com/hallmark-mcp/hallmark/internal/spelling"
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

	explainTime = 10 * time.Second // of searches for what may have been meant
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
	notices(&text, s.explainHits(ctx, sc, in, ask, found))
	writePassed(&text, "not searched", found.Passed)
	return &stdio.Result{Text: text.String()}, nil
}

// explainHits says why there are no hits, or not all that were meant, if that shows. Of a search that ended early it
// does not show: what is missing may be where it did not come to.
func (s *Server) explainHits(
	ctx context.Context, sc *place.Scope, in searchArguments, ask engine.SearchRequest, found *engine.Found,
) []string {
	switch {
	case found.Cut != "":
		return []string{found.Cut + "; there may be more"}
	case found.Searched == 0 && ask.Only != nil:
		return []string{explainNoFiles(in)}
	case in.Pattern == "":
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, explainTime)
	defer cancel()
	none := len(found.Files) == 0
	if none {
		if why := explainNoHits(in); why != nil {
			return why
		}
	}
	if wide := widenPattern(in.Pattern); wide != in.Pattern && (none || !spelling.IsASCII(in.Pattern)) {
		other := s.searchAgain(ctx, sc, in, ask, wide)
		if n := other.Count(); n > 0 && !reflect.DeepEqual(other.Files, found.Files) {
			return []string{fmt.Sprintf(`\w and \b know only the letters of ASCII; `+
				`for %s with those of all languages give %s`,
				count(n, "hit"), showPattern(wide))}
		}
	}
	quoted := regexp.QuoteMeta(in.Pattern)
	if none && quoted != in.Pattern && s.searchAgain(ctx, sc, in, ask, quoted).Count() > 0 {
		return []string{"as a text, and not as a regular expression, it stands here; to find that give " +
			showPattern(quoted)}
	}
	return nil
}

// searchAgain searches for another pattern in the same files. That it cannot is as good as that there is nothing.
func (s *Server) searchAgain(
	ctx context.Context, sc *place.Scope, in searchArguments, ask engine.SearchRequest, pattern string,
) *engine.Found {
	in.Pattern, ask.Unshown = pattern, true
	var err error
	if ask.Pattern, err = parsePattern(in); err != nil {
		return &engine.Found{}
	}
	found, err := s.engine.Search(ctx, sc, ask)
	if err != nil {
		return &engine.Found{}
	}
	return found
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
