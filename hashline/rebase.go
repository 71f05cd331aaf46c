package hashline

import "github.com/aymanbagabas/go-udiff/lcs"

// Rebase applies operations to base, which is what their author had read, and merges the
// outcome onto current: a three-way merge by lines. Where the operations and the other
// change meet, or touch, it is refused as [Stale], as it is where lines that were only added or
// removed could as well have been like lines that touch. The result's old file is current; its
// relocations name lines of base.
func Rebase(base, current []byte, operations []Operation, o Options) (*Result, error) {
	return rebase(base, current, operations, o, func(from, onto *File) []shift {
		diffs := differences(from, onto)
		return []shift{{diffs, reaches(diffs, from, onto)}}
	})
}

// RebaseOnto is [Rebase] onto edits that made current of base, of which it is known what they did: their hunks, in
// order.
func RebaseOnto(base, current []byte, edits [][]Hunk, operations []Operation, o Options) (*Result, error) {
	return rebase(base, current, operations, o, func(*File, *File) (all []shift) {
		for _, hunks := range edits {
			var diffs []lcs.Diff
			for _, h := range hunks {
				diffs = append(diffs, lcs.Diff{Start: h.OldFirst - 1, End: h.OldFirst - 1 + h.OldLines,
					ReplStart: h.NewFirst - 1, ReplEnd: h.NewFirst - 1 + h.NewLines})
			}
			all = append(all, shift{diffs, diffs})
		}
		return all
	})
}

// shift is how lines move from one state of a file to a later one.
type shift struct {
	diffs   []lcs.Diff
	reaches []lcs.Diff // of each the lines before that it may concern: see [reaches]
}

// rebase merges operations for base onto current through the shifts between the two.
func rebase(
	base, current []byte, operations []Operation, o Options, between func(from, onto *File) []shift,
) (*Result, error) {
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
	read := make([]int, len(changes)) // the first lines as they were read
	for i, c := range changes {
		read[i] = c.first
	}
	for _, s := range between(from, onto) {
		if err := s.apply(changes); err != nil {
			return nil, err
		}
	}
	for i := range changes {
		c, last := &changes[i], 0
		if c.unendedLast {
			last = 1
		}
		moved := onto.lineStart(c.first-last) - from.lineStart(read[i]-last)
		c.at += moved
		c.end += moved
	}
	return applyChanges(from, onto, changes, p)
}

// apply moves the lines of changes, and refuses them where they meet or touch a difference.
func (s shift) apply(changes []change) error {
	next, grown := 0, 0 // the first difference that is not before c, and what those before it added
	for i := range changes {
		c := &changes[i]
		first, end := c.first-1, c.first-1+c.lines // lines from 0
		if c.unendedLast {
			first--
		}
		for next < len(s.diffs) && s.reaches[next].End < first {
			d := s.diffs[next]
			grown += (d.ReplEnd - d.ReplStart) - (d.End - d.Start)
			next++
		}
		if next < len(s.diffs) && s.reaches[next].Start <= end {
			d := s.diffs[next]
			err := refuse(Stale, "the file was changed in or beside its lines too, from line %d to %d as they "+
				"were read; read the lines again", d.Start+1, max(d.End, d.Start+1)).in(c.operation)
			err.Line = d.ReplStart + 1
			return err
		}
		c.first += grown
	}
	return nil
}

// reaches returns for each difference the lines of a that it may concern. Lines that were only added, or only removed,
// may have been other ones as well: of two like blocks that follow one another nobody sees which is gone.
func reaches(diffs []lcs.Diff, a, b *File) []lcs.Diff {
	all := make([]lcs.Diff, len(diffs))
	for i, d := range diffs {
		all[i] = d
		same := func(up, down int) bool { return string(a.rawLine(up+1)) == string(a.rawLine(down+1)) }
		if d.Start == d.End {
			same = func(up, down int) bool { return string(a.rawLine(up+1)) == string(b.rawLine(down+1)) }
		} else if d.ReplStart != d.ReplEnd {
			continue
		}
		// Removed lines slide in a; added ones slide in b, where the lines before and behind come from a. They end
		// at other differences.
		up, down, least, most := d.End, d.Start, 0, a.Lines()
		if d.Start == d.End {
			up, down = d.ReplEnd, d.ReplStart
		}
		if i > 0 {
			least = diffs[i-1].End
		}
		if i+1 < len(diffs) {
			most = diffs[i+1].Start
		}
		for all[i].Start > least && same(all[i].Start-1, up-1-(d.Start-all[i].Start)) {
			all[i].Start--
		}
		for all[i].End < most && same(all[i].End, down+(all[i].End-d.End)) {
			all[i].End++
		}
	}
	return all
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
