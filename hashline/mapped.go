package hashline

import (
	"slices"

	"github.com/aymanbagabas/go-udiff/lcs"
)

// Mapped says where the line of an anchor is in a later state of the file.
type Mapped struct {
	Operation int    // by index
	Anchor    string // as given, without the text of a line
	Read      int    // its line in the file that was read; 0 if the anchor does not hold there
	Line      int    // the same line now; 0 if it is gone or changed
	NewAnchor string // of Line, as a reader is shown it; "" if there is none
	Place     int    // the line that stands now where it stood; 0 in an empty file
	Altered   bool   // of the last anchor of a range: the lines of the range are not those that were read
}

// MapAnchors says for each anchor of operations, which were made for base, where its line is
// in current. Anchors are resolved in base as [Edit] does. A line is the same if [Rebase]
// takes it as the same; else if it differs in white space at its end or in its ending only; or
// else if it is not blank, and the only line with its content in both files. Its errors are of
// type *[Error]: files that are not text, and operations that are not well formed.
func MapAnchors(base, current []byte, operations []Operation, o Options) ([]Mapped, error) {
	from, err := Parse(base)
	if err != nil {
		return nil, err
	}
	onto, err := Parse(current)
	if err != nil {
		return nil, err
	}
	o.Width = o.width()
	found, refused := resolveAnchors(from, operations, o)
	if refused != nil {
		return nil, refused
	}
	m := &mapper{from: from, onto: onto, others: differences(from, onto), inside: map[int][]lcs.Diff{}}
	for i := range found {
		x := &found[i]
		if x.Read == 0 {
			x.Place = min(onto.Lines(), 1)
			if x.Anchor == "0:" && onto.Lines() == 0 {
				x.NewAnchor = x.Anchor
			}
			continue
		}
		x.Line, x.Place = m.line(x.Read, found)
		if x.Line > 0 {
			x.NewAnchor = Anchor(x.Line, onto.Line(x.Line), o.Width)
		}
		if i > 0 && found[i-1].Operation == x.Operation {
			x.Altered = m.altered(found[i-1], *x)
		}
	}
	return found, nil
}

// resolveAnchors finds the lines of anchors in the file that they were read from.
func resolveAnchors(f *File, operations []Operation, o Options) (found []Mapped, err *Error) {
	d := &finder{file: f, options: o}
	for i, op := range operations {
		op, err := op.standard()
		if err != nil {
			return nil, err.in(i)
		}
		for _, text := range []string{op.Anchor, op.EndAnchor} {
			if text == "" || op.Op == ReplaceAll {
				continue
			}
			a, err := d.parse(text)
			if err != nil {
				return nil, err.in(i)
			}
			x := Mapped{Operation: i, Anchor: a.text}
			if a.line > 0 {
				x.Read = d.find(a)
			}
			found = append(found, x)
		}
	}
	return found, nil
}

// mapper finds lines of one file in another.
type mapper struct {
	from, onto *File
	others     []lcs.Diff
	inside     map[int][]lcs.Diff // by index of others: the same without white space at the ends of lines
	// lines that are looked for, by content without white space at its end; made when needed
	only map[string]*seen
}

// seen is how many lines of each file have a content, and the last in onto.
type seen struct{ from, onto, line int }

// findOnly looks for the contents of anchors in both files.
func (m *mapper) findOnly(anchors []Mapped) {
	m.only = map[string]*seen{}
	for _, x := range anchors {
		if x.Read == 0 {
			continue
		}
		if content := trimSpace(m.from.Line(x.Read)); len(content) > 0 {
			m.only[string(content)] = &seen{}
		}
	}
	if len(m.only) == 0 {
		return
	}
	for n := 1; n <= m.from.Lines(); n++ {
		if s := m.only[string(trimSpace(m.from.Line(n)))]; s != nil {
			s.from++
		}
	}
	for n := 1; n <= m.onto.Lines(); n++ {
		if s := m.only[string(trimSpace(m.onto.Line(n)))]; s != nil {
			s.onto++
			s.line = n
		}
	}
}

// line is where line n, one of the anchors, is now, or 0, and the line that stands at its place.
func (m *mapper) line(n int, anchors []Mapped) (now, place int) {
	now, i := shifted(m.others, n-1)
	if i < 0 {
		return now + 1, now + 1
	}
	d := m.others[i]
	if _, ok := m.inside[i]; !ok {
		m.inside[i] = m.compare(d)
	}
	now, j := shifted(m.inside[i], n-1-d.Start)
	if j < 0 {
		return d.ReplStart + now + 1, d.ReplStart + now + 1
	}
	place = min(d.ReplStart+m.inside[i][j].ReplStart+1, m.onto.Lines())
	if m.only == nil {
		m.findOnly(anchors)
	}
	if s := m.only[string(trimSpace(m.from.Line(n)))]; s != nil && s.from == 1 && s.onto == 1 {
		return s.line, place
	}
	return 0, place
}

// compare is how the lines of a difference differ without white space at their ends, counted
// from its beginning.
func (m *mapper) compare(d lcs.Diff) []lcs.Diff {
	n, k := d.End-d.Start, d.ReplEnd-d.ReplStart
	if n+k > maxCompared {
		return []lcs.Diff{{End: n, ReplEnd: k}}
	}
	return differentTexts(m.from.trimmedTexts(d.Start, d.End), m.onto.trimmedTexts(d.ReplStart, d.ReplEnd))
}

// shifted is line n, from 0, behind differences, or the index of the one that it is in, else -1.
func shifted(diffs []lcs.Diff, n int) (now, in int) {
	i, _ := slices.BinarySearchFunc(diffs, n, func(d lcs.Diff, n int) int {
		if d.End <= n {
			return -1
		}
		return 1
	})
	if i < len(diffs) && diffs[i].Start <= n {
		return 0, i
	}
	if i > 0 {
		n += diffs[i-1].ReplEnd - diffs[i-1].End
	}
	return n, -1
}

// altered reports whether the lines of a range are others now.
func (m *mapper) altered(first, last Mapped) bool {
	if first.Line == 0 || last.Line == 0 || last.Line-first.Line != last.Read-first.Read {
		return true
	}
	// The first difference that ends behind the range's first line, if it begins in the range.
	i, _ := slices.BinarySearchFunc(m.others, first.Read-1, func(d lcs.Diff, n int) int {
		if d.End <= n {
			return -1
		}
		return 1
	})
	return i < len(m.others) && m.others[i].Start < last.Read
}

// trimmedTexts is the content of the lines from first to end, from 0 and half open, without
// white space at its end.
func (f *File) trimmedTexts(first, end int) []string {
	lines := make([]string, 0, end-first)
	for n := first + 1; n <= end; n++ {
		lines = append(lines, string(trimSpace(f.Line(n))))
	}
	return lines
}
