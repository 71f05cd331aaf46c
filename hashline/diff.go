package hashline

import (
	"bytes"
	"fmt"
)

// Diff is a unified diff of the edit with the given number of lines of context. If it has
// more than limit bytes it is cut behind the last line that fits, and cut is true.
func (r *Result) Diff(context, limit int) (text string, cut bool) {
	var b bytes.Buffer
	for i := 0; i < len(r.Hunks); {
		first := i
		for i++; i < len(r.Hunks) && r.Hunks[i].OldFirst-oldEnd(r.Hunks[i-1]) <= 2*context; i++ {
		}
		r.writeHunk(&b, r.Hunks[first:i], context, limit)
		if b.Len() > limit {
			text := b.Bytes()[:limit]
			return string(text[:bytes.LastIndexByte(text, '\n')+1]), true
		}
	}
	return b.String(), false
}

// oldEnd is the old line behind a hunk.
func oldEnd(h Hunk) int { return h.OldFirst + h.OldLines }

// writeHunk writes hunks that share their context.
func (r *Result) writeHunk(b *bytes.Buffer, group []Hunk, context, limit int) {
	h, last := group[0], group[len(group)-1]
	before := min(context, h.OldFirst-1)
	after := min(context, r.Old.Lines()-oldEnd(last)+1)
	oldFirst, oldLines := h.OldFirst-before, oldEnd(last)+after-(h.OldFirst-before)
	newFirst, newLines := h.NewFirst-before, last.NewFirst+last.NewLines+after-(h.NewFirst-before)
	if oldLines == 0 {
		oldFirst--
	}
	if newLines == 0 {
		newFirst--
	}
	fmt.Fprintf(b, "@@ -%d,%d +%d,%d @@\n", oldFirst, oldLines, newFirst, newLines)
	at := h.OldFirst - before
	for _, h := range group {
		for ; at < h.OldFirst; at++ {
			writeLine(b, ' ', r.Old.rawLine(at))
		}
		for ; at < oldEnd(h) && b.Len() <= limit; at++ {
			writeLine(b, '-', r.Old.rawLine(at))
		}
		for n := h.NewFirst; n < h.NewFirst+h.NewLines && b.Len() <= limit; n++ {
			writeLine(b, '+', r.New.rawLine(n))
		}
		at = oldEnd(h)
	}
	for ; at < oldEnd(last)+after; at++ {
		writeLine(b, ' ', r.Old.rawLine(at))
	}
}

func writeLine(b *bytes.Buffer, sign byte, raw []byte) {
	b.WriteByte(sign)
	b.Write(raw)
	if !bytes.HasSuffix(raw, []byte{'\n'}) {
		b.WriteString("\n\\ No newline at end of file\n")
	}
}
