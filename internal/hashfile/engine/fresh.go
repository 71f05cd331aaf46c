package engine

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/hashline"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
)

// staleNow returns the refusal of an edit whose file was changed by another process meanwhile.
func (e *Engine) staleNow(ctx context.Context, p *place.Place, ops []hashline.Operation, why string) error {
	problem := place.RefuseStale(p.Asked, why)
	if now, err := e.reader.Read(ctx, p); err == nil {
		return e.addFreshLines(p, problem, now, ops)
	}
	return problem
}

// addFreshLines adds to a refusal the file's hash and the lines near the anchors and at the candidates, as
// they are now.
func (e *Engine) addFreshLines(
	p *place.Place, out *place.Refusal, now Contents, ops []hashline.Operation,
) *place.Refusal {
	var ranges [][2]int
	for _, o := range ops {
		if o.Anchor == "" && isAppend(o) {
			ranges = append(ranges, atEnd)
		}
		for _, anchor := range strings.Split(o.Anchor+".."+o.EndAnchor, "..") {
			var line int
			if _, err := fmt.Sscanf(anchor, "%d", &line); err == nil {
				ranges = append(ranges, [2]int{line - freshContext, line + freshContext})
			}
		}
	}
	for _, line := range out.Candidates {
		ranges = append(ranges, [2]int{line, line})
	}
	return e.addFacts(p, out, now, ranges)
}

// isAppend reports whether an operation without an anchor is about the end of the file.
func isAppend(o hashline.Operation) bool { return strings.EqualFold(o.Op, hashline.Append) }

// atEnd is a range of the last lines, wherever the file ends.
var atEnd = [2]int{math.MaxInt, math.MaxInt}

// addFacts adds to a refusal the file's hash and the lines of ranges, as they are now. A range behind the end is moved
// to the end.
func (e *Engine) addFacts(
	p *place.Place, out *place.Refusal, now Contents, ranges [][2]int,
) *place.Refusal {
	f, err := hashline.Parse(now.Data)
	if err != nil {
		return out
	}
	e.reader.Remember(p, now.Hash, now.Data)
	e.reader.NoteShown(now.Hash)
	n := f.Lines()
	out.FileHash, out.TotalLines = Abbreviate(now.Hash), &n
	for i, r := range ranges {
		if r[0] > n-2*freshContext {
			ranges[i] = [2]int{min(r[0], n-2*freshContext), n}
		}
	}
	out.Lines = e.tagLines(f, ranges)
	return out
}

// tagLines returns the tagged lines of ranges, each line once and in order. What is above the bounds of an answer is
// cut or left out, and said.
func (e *Engine) tagLines(f *hashline.File, ranges [][2]int) []string {
	return e.tagFirst(f, ranges, maxFresh)
}

// tagFirst is [Engine.tagLines] for at most so many lines.
func (e *Engine) tagFirst(f *hashline.File, ranges [][2]int, most int) []string {
	wanted, next := map[int]bool{}, 0
	for _, r := range ranges {
		for n := max(r[0], 1); n <= min(r[1], f.Lines()) && next == 0; n++ {
			if wanted[n] = true; len(wanted) > most {
				next = n
			}
		}
	}
	lines, size := []string{}, 0
	for _, n := range slices.Sorted(maps.Keys(wanted)) {
		line, tag := f.Line(n), hashline.Anchor(n, f.Line(n), e.o.Anchors.Width)+"|"
		text := tag + string(line)
		if size+len(text) > freshBytes {
			text = string(AppendCut([]byte(tag), line, 0))
		}
		if size += len(text); n == next || size > freshBytes {
			return append(lines, fmt.Sprintf("[there are more; read from line %d]", n))
		}
		lines = append(lines, text)
	}
	return lines
}

// Bounds of the lines in an answer.
const (
	editContext  = 3        // lines around each edit
	freshContext = 3        // lines around each anchor of a refused edit
	firstShown   = 20       // lines of a file that is not replaced
	maxFresh     = 200      // lines
	freshBytes   = 24 << 10 // of them; a client cuts what has more than 25,000 tokens
)
