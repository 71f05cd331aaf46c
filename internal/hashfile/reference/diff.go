package reference

import (
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-udiff/lcs"
)

// diffContext is how many lines a diff shows around each change.
const diffContext = 4

// formatDiff returns the diff of two texts in a fence, as edit_file answers it.
func formatDiff(path, from, to string) string {
	diff := unifiedDiff(path, from, to)
	fence := "```"
	for strings.Contains(diff, fence) {
		fence += "`"
	}
	return fence + "diff\n" + diff + fence + "\n\n"
}

// unifiedDiff returns the changes from one text to another with the lines around them.
func unifiedDiff(path, from, to string) string {
	a, b := splitLines(from), splitLines(to)
	var text strings.Builder
	fmt.Fprintf(&text, "Index: %s\n%s\n--- %s\toriginal\n+++ %s\tmodified\n", path, strings.Repeat("=", 67), path, path)
	diffs := lineDiffs(a, b)
	for len(diffs) > 0 {
		n := 1
		for n < len(diffs) && diffs[n].Start-diffs[n-1].End <= 2*diffContext {
			n++
		}
		writeHunk(&text, a, b, diffs[:n])
		diffs = diffs[n:]
	}
	return text.String()
}

// splitLines returns the lines of a text with their endings.
func splitLines(text string) []string {
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		return lines[:len(lines)-1]
	}
	return lines
}

// lineDiffs returns the ranges of lines of a that are replaced by ranges of lines of b. What both begin and end with is
// not compared, which for an edit of a large file is nearly all.
func lineDiffs(a, b []string) []lcs.Diff {
	head, least := 0, min(len(a), len(b))
	for head < least && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < least-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	diffs := lcs.DiffLines(a[head:len(a)-tail], b[head:len(b)-tail])
	for i := range diffs {
		d := &diffs[i]
		d.Start, d.End, d.ReplStart, d.ReplEnd = d.Start+head, d.End+head, d.ReplStart+head, d.ReplEnd+head
	}
	return diffs
}

// writeHunk writes changes that share the lines around them.
func writeHunk(text *strings.Builder, a, b []string, diffs []lcs.Diff) {
	first, last := diffs[0], diffs[len(diffs)-1]
	before := min(diffContext, first.Start)
	after := min(diffContext, len(a)-last.End)
	fmt.Fprintf(text, "@@ -%s +%s @@\n", formatRange(first.Start-before, last.End+after),
		formatRange(first.ReplStart-before, last.ReplEnd+after))
	at := first.Start - before
	for _, d := range diffs {
		writeLines(text, ' ', a[at:d.Start])
		writeLines(text, '-', a[d.Start:d.End])
		writeLines(text, '+', b[d.ReplStart:d.ReplEnd])
		at = d.End
	}
	writeLines(text, ' ', a[at:last.End+after])
}

// formatRange writes the lines from first to end, counted from 0 and half open, as a diff does.
func formatRange(first, end int) string {
	if first == end {
		return fmt.Sprintf("%d,0", first)
	}
	return fmt.Sprintf("%d,%d", first+1, end-first)
}

func writeLines(text *strings.Builder, sign byte, lines []string) {
	for _, line := range lines {
		text.WriteByte(sign)
		text.WriteString(line)
		if !strings.HasSuffix(line, "\n") {
			text.WriteString("\n\\ No newline at end of file\n")
		}
	}
}
