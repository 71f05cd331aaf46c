package hashfile

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/hashline"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/contents"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/refusal"
)

// parseFileHash parses the file_hash of a call as a claim about the file.
func parseFileHash(text string) (evidence.Claim, error) {
	if text == "" {
		return evidence.Claim{}, refusal.New(hashline.Invalid, "file_hash is missing; take it from reading the file")
	}
	d, err := digest.Parse(text)
	if err != nil || d.Algorithm() != digest.SHA256 {
		return evidence.Claim{}, refusal.New(hashline.Invalid,
			"file_hash %s is not sha256: and 64 hex digits; take it from reading the file", refusal.Show(text))
	}
	return evidence.Claim{Subject: "file", Scheme: evidence.File, Want: []digest.Digest{d}}, nil
}

// staleNow returns the refusal of an edit whose file was changed by another process meanwhile.
func (s *Server) staleNow(ctx context.Context, p *place.Place, ops []hashline.Operation, why string) error {
	problem := refusal.Stale(p.Asked, why)
	if now, err := s.reader.Read(ctx, p); err == nil {
		return s.addFreshLines(p, problem, now, ops)
	}
	return problem
}

// addFreshLines adds to a refusal the file's hash and the lines near the anchors and at the candidates, as
// they are now.
func (s *Server) addFreshLines(
	p *place.Place, out *refusal.Refusal, now contents.Contents, ops []hashline.Operation,
) *refusal.Refusal {
	f, err := hashline.Parse(now.Data)
	if err != nil {
		return out
	}
	s.reader.Remember(p, now.Hash, now.Data)
	out.FileHash = now.Hash.String()
	n := f.Lines()
	out.TotalLines = &n
	var ranges [][2]int
	for _, o := range ops {
		for _, anchor := range []string{o.Anchor, o.EndAnchor} {
			var line int
			if _, err := fmt.Sscanf(anchor, "%d:", &line); err == nil {
				ranges = append(ranges, [2]int{min(line, n) - editContext, min(line, n) + editContext})
			}
		}
	}
	for _, line := range out.Candidates {
		ranges = append(ranges, [2]int{line, line})
	}
	out.Lines = s.tagLines(f, ranges)
	return out
}

// tagLines returns the tagged lines of ranges, each line once and in order, up to the bounds of an answer.
func (s *Server) tagLines(f *hashline.File, ranges [][2]int) []string {
	wanted := map[int]bool{}
	for _, r := range ranges {
		for n := max(r[0], 1); n <= min(r[1], f.Lines()) && len(wanted) < maxFresh; n++ {
			wanted[n] = true
		}
	}
	lines, size := []string{}, 0
	for _, n := range slices.Sorted(maps.Keys(wanted)) {
		line := string(f.AppendLines(nil, n, n, s.c.TagWidth))
		if size += len(line); size > freshBytes {
			break
		}
		lines = append(lines, strings.TrimSuffix(line, "\n"))
	}
	return lines
}

// Bounds of an edit's answer.
const (
	editContext = 3         // lines around each edit, and in the diff
	maxDiff     = 64 << 10  // bytes
	maxFresh    = 200       // lines
	freshBytes  = 128 << 10 // of them
)
