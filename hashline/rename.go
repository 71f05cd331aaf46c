package hashline

import (
	"bytes"
	"cmp"
	"slices"
	"unicode"
	"unicode/utf8"
)

// renaming is one operation [ReplaceAll].
type renaming struct {
	Replacement
	find, by string
}

// match is where a line has the text of a renaming.
type match struct {
	of        *renaming
	from, end int
}

// rename adds a step for each line that has the text of some of all. They replace together: none finds what another
// one wrote.
func (p *plan) rename(f *File, all []renaming) *Error {
	for n := 1; len(all) > 0 && n <= f.Lines(); n++ {
		line := f.Line(n)
		var found []match
		for i := range all {
			found = append(found, all[i].findIn(line, n)...)
		}
		if len(found) == 0 {
			continue
		}
		slices.SortStableFunc(found, func(a, b match) int { return cmp.Compare(a.from, b.from) })
		var replaced []byte
		at := 0
		for i, m := range found {
			if m.from < at {
				a, b := found[i-1].of.Operation, m.of.Operation
				return refuse(Overlap, "operation %d and operation %d (replace_all) overlap: both replace a part "+
					"of %s in line %d; make one of them", a+1, b+1, quote(string(line[found[i-1].from:m.end])),
					n).about(a, b)
			}
			replaced = append(append(replaced, line[at:m.from]...), m.of.by...)
			at = m.end
		}
		replaced = append(replaced, line[at:]...)
		p.steps = append(p.steps, step{index: found[0].of.Operation, op: ReplaceAll, first: n, last: n,
			lines: [][]byte{replaced}})
	}
	for _, r := range all {
		if r.Count == 0 {
			return r.explain().in(r.Operation)
		}
		p.replaced = append(p.replaced, r.Replacement)
	}
	return nil
}

// findIn returns where line n has the text as a whole word, and counts where it is a part of a longer one.
func (r *renaming) findIn(line []byte, n int) (found []match) {
	for at := 0; ; {
		i := bytes.Index(line[at:], []byte(r.find))
		if i < 0 {
			return found
		}
		from, end := at+i, at+i+len(r.find)
		if !isCut(line, from) && !isCut(line, end) {
			r.Count++
			found = append(found, match{r, from, end})
			at = end
			continue
		}
		if r.Left++; r.LeftLine == 0 {
			r.LeftLine = n
		}
		_, size := utf8.DecodeRune(line[from:])
		at = from + size
	}
}

// explain is why a text is nowhere replaced.
func (r renaming) explain() *Error {
	if r.Left == 0 {
		return refuse(AnchorNotFound, "no line has %s; it is looked for as it is, letter for letter", quote(r.find))
	}
	err := refuse(AnchorNotFound, "%s stands only inside of longer words, first in line %d; give the whole word",
		quote(r.find), r.LeftLine)
	err.Candidates = []int{r.LeftLine}
	return err
}

// isCut reports whether an offset of a line is inside of a word, or of what is seen as one letter.
func isCut(line []byte, at int) bool {
	isWord := func(r rune) bool {
		return r == '_' || r == '\u200c' || r == '\u200d' || unicode.In(r, unicode.L, unicode.M, unicode.N)
	}
	before, _ := utf8.DecodeLastRune(line[:at])
	after, _ := utf8.DecodeRune(line[at:])
	return isWord(after) && (isWord(before) || unicode.Is(unicode.M, after) || after == '\u200d') || before == '\u200d'
}
