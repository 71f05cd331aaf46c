package hashfile

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/hallmark-mcp/hallmark/hashline"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/engine"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/refusal"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/roots"
)

type searchArguments struct {
	Pattern    string `json:"pattern,omitempty" about:"regular expression (RE2), for each line"`
	Path       string `json:"path,omitempty" about:"file or directory; default: all allowed directories"`
	Glob       string `json:"glob,omitempty" about:"as *.{js,ts} or src/**/*.go"`
	IgnoreCase bool   `json:"ignore_case,omitempty"`
	Context    int    `json:"context,omitempty" about:"lines around each hit, to 10"`
	MaxResults int    `json:"max_results,omitempty" about:"default 100"`
}

// Bounds of what a search is asked for.
const (
	maxContext = 10 // lines
	maxResults = 1000
)

func (s *Server) searchFiles(ctx context.Context, sc *roots.Scope, in searchArguments) (*answer, error) {
	if in.Context < 0 || in.Context > maxContext || in.MaxResults < 0 || in.MaxResults > maxResults {
		return nil, refusal.New(hashline.Invalid, "context is 0 to %d and max_results 1 to %d", maxContext, maxResults)
	}
	var err error
	ask := engine.SearchRequest{Path: in.Path, Context: in.Context, Limit: cmp.Or(in.MaxResults, 100),
		Tokens: s.c.ReadTokens}
	if in.Glob != "" {
		if ask.Only, err = parseGlob(sc, in.Glob); err != nil {
			return nil, err
		}
	}
	if in.Pattern == "" {
		return s.searchNames(ctx, sc, ask)
	}
	if ask.Pattern, err = parsePattern(in); err != nil {
		return nil, err
	}
	found, err := s.engine.Search(ctx, sc, ask)
	if err != nil {
		return nil, err
	}
	var text strings.Builder
	hits := 0
	for _, f := range found.Files {
		fmt.Fprintf(&text, "==> %s <==\n[file_hash=%s]\n", refusal.Show(f.Path), engine.Abbreviate(f.Hash))
		for _, line := range f.Lines {
			text.WriteString(line + "\n")
		}
		hits += len(f.Numbers)
	}
	fmt.Fprintf(&text, "[%d hits in %d files%s]\n", hits, len(found.Files), moreNotice(found.Cut))
	if hits == 0 && !found.Cut {
		notices(&text, explainNoHits(in))
	}
	return &answer{text: text.String()}, nil
}

// searchNames answers with the files whose paths match a glob.
func (s *Server) searchNames(
	ctx context.Context, sc *roots.Scope, ask engine.SearchRequest,
) (*answer, error) {
	if ask.Only == nil {
		return nil, refusal.New(hashline.Invalid,
			"give a pattern, to find lines, or a glob, to find files, or both")
	}
	found, err := s.engine.FindNames(ctx, sc, ask)
	if err != nil {
		return nil, err
	}
	var text strings.Builder
	n := writePaths(&text, found.Entries)
	fmt.Fprintf(&text, "[%d files%s]\n", n, moreNotice(found.Cut || n < len(found.Entries)))
	return &answer{text: text.String()}, nil
}

func moreNotice(cut bool) string {
	if cut {
		return "; there may be more"
	}
	return ""
}
