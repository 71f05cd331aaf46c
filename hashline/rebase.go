package hashline

import "github.com/aymanbagabas/go-udiff/lcs"

// Rebase applies operations to base, which is what their author had read, and merges the
// outcome onto current: a three-way merge by lines. Where the operations and the other
// change meet, or touch, it is refused as [Stale]. The result's old file is current; its
// relocations name lines of base.
func Rebase(base, current []byte, operations []Operation, o Options) (*Result, error) {
	from, err := Parse(base)
	if err != nil {
		return nil, err
	}
	onto, err := Parse(current)
	if err != nil {
		return nil, err
	}
	changes, p, err := planChanges(from, operations, o)
	if err != nil {
		return nil, err
	}
	others := differences(from, onto)
	next, grown := 0, 0 // the first other change that is not before c, and what those before it added
	for i := range changes {
		c := &changes[i]
		first, end := c.first-1, c.first-1+c.lines // lines from 0
		if c.unendedLast {
			first--
		}
		for next < len(others) && others[next].End < first {
			d := others[next]
			grown += (d.ReplEnd - d.ReplStart) - (d.End - d.Start)
			next++
		}
		if next < len(others) && others[next].Start <= end {
			d := others[next]
			err := refuse(Stale, "the file was changed in or beside its lines too, from line %d to %d as they "+
				"were read; read the lines again", d.Start+1, max(d.End, d.Start+1)).in(c.operation)
			err.Line = d.ReplStart + 1
			return nil, err
		}
		shift := onto.lineStart(first+1+grown) - from.lineStart(first+1)
		c.at += shift
		c.end += shift
		c.first += grown
	}
	return applyChanges(from, onto, changes, p)
}

// maxCompared is how many lines of two files, between those that are the same at both ends,
// are compared in search of more that are. That of 40 million lines takes half a minute.
const maxCompared = 1 << 20

// differences are the ranges of lines of a that were replaced by ranges of lines of b,
// counted from 0 and half open. They are not always the fewest: behind some hundred of
// them the rest of the file is one, and of more than maxCompared lines all are.
func differences(a, b *File) []lcs.Diff {
	n, m := a.Lines(), b.Lines()
	head := 0
	for head < min(n, m) && string(a.rawLine(head+1)) == string(b.rawLine(head+1)) {
		head++
	}
	tail := 0
	for tail < min(n, m)-head && string(a.rawLine(n-tail)) == string(b.rawLine(m-tail)) {
		tail++
	}
	if n+m-2*(head+tail) > maxCompared {
		return []lcs.Diff{{Start: head, End: n - tail, ReplStart: head, ReplEnd: m - tail}}
	}
	return shiftDiffs(lcs.DiffLines(a.lineTexts(head, n-tail), b.lineTexts(head, m-tail)), head)
}

// differentTexts is the same as differences of lines that are given as texts.
func differentTexts(a, b []string) []lcs.Diff {
	head := 0
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	return shiftDiffs(lcs.DiffLines(a[head:len(a)-tail], b[head:len(b)-tail]), head)
}

// shiftDiffs counts differences of what follows the first head lines from the beginning.
func shiftDiffs(diffs []lcs.Diff, head int) []lcs.Diff {
	for i := range diffs {
		d := &diffs[i]
		d.Start += head
		d.End += head
		d.ReplStart += head
		d.ReplEnd += head
	}
	return diffs
}

// lineTexts is the lines from first to end, from 0 and half open, with their endings.
func (f *File) lineTexts(first, end int) []string {
	lines := make([]string, 0, end-first)
	for n := first + 1; n <= end; n++ {
		lines = append(lines, string(f.rawLine(n)))
	}
	return lines
}
