package hashline

import (
	"cmp"
	"strconv"
	"strings"
)

// Operation is one change, anchored in the file before the edit.
type Operation struct {
	Op        string  // a name of an operation; letter case, "_" and "-" do not count
	Anchor    string  // may be a range, "1:a3..3:0e"; may be "" for Append and Prepend; the text of ReplaceAll
	EndAnchor string  // of a range; "" is the line of Anchor alone
	Content   *string // the new lines; nil for a deletion
}

// step is an operation whose anchors are found: it replaces the lines first to last by
// lines, or, if insert is set, puts lines between line gap and the one after it.
type step struct {
	index       int // of the operation
	op          string
	first, last int
	insert      bool
	gap         int
	beside      int // the line that anchors an insertion; 0 in an empty file
	lines       [][]byte
	ended       bool // one line feed ended the content, and is no line
}

// place orders steps: lines are even, the gaps between them odd.
func (s step) place() int {
	if s.insert {
		return 2*s.gap + 1
	}
	return 2 * s.first
}

// deletes reports whether line n is deleted by the step.
func (s step) deletes(n int) bool {
	return !s.insert && len(s.lines) == 0 && s.first <= n && n <= s.last
}

// name says which operation it is, counted from 1 as people and models do.
func (s step) name() string { return "operation " + strconv.Itoa(s.index+1) + " (" + s.op + ")" }

// plan is what operations do to a file.
type plan struct {
	steps    []step
	moved    []Relocation
	replaced []Replacement
}

// locate checks each operation by itself and finds its lines.
func locate(f *File, operations []Operation, o Options) (p plan, err *Error) {
	if len(operations) == 0 {
		return p, refuse(Invalid, "there are no operations; give at least one, with op, anchor and content")
	}
	d := &finder{file: f, options: o}
	var all []renaming
	for i, op := range operations {
		s, moved, err := op.locate(d, i)
		switch {
		case err != nil:
			return p, err.in(i)
		case s.op == ReplaceAll:
			all = append(all, renaming{Replacement{Operation: i}, op.Anchor, *op.Content})
		default:
			p.steps = append(p.steps, s)
		}
		p.moved = append(p.moved, moved...)
	}
	return p, p.rename(f, all)
}

// checkLength refuses a range that its anchors' moves made longer than their numbers say: one
// end that was found far away would take all the lines between with it.
func checkLength(op Operation, first, last int) *Error {
	from, _ := parseAnchor(op.Anchor, MinWidth)
	to := from
	if op.EndAnchor != "" {
		to, _ = parseAnchor(op.EndAnchor, MinWidth)
	}
	if last-first <= to.line-from.line {
		return nil
	}
	err := refuse(AnchorNotFound, "the range %s to %s is of %d lines as you number them, and would be of %d, "+
		"lines %d to %d, where the tags are found; give the numbers and tags of its first and its last line anew",
		from.text, to.text, to.line-from.line+1, last-first+1, first, last)
	err.Candidates = []int{first, last}
	return err
}

// replaced are the numbers of the lines that a standard operation replaces, as it gives them; 0 if it replaces none.
func (op Operation) replaced() (first, last int) {
	if op.Op != Replace && op.Op != ReplaceRange {
		return 0, 0
	}
	from, _ := parseAnchor(op.Anchor, MinWidth)
	to, _ := parseAnchor(cmp.Or(op.EndAnchor, op.Anchor), MinWidth)
	return from.line, to.line
}

// locate finds the lines of the operation, which is that with the given index, and says which
// anchors it moved.
func (op Operation) locate(d *finder, index int) (step, []Relocation, *Error) {
	op, err := op.standard()
	if err != nil {
		return step{}, nil, err
	}
	s := step{index: index, op: op.Op, insert: op.inserts()}
	if !op.deletes() {
		first, last := op.replaced()
		if err := checkContent(*op.Content, d.file, d.options, first, last); err != nil {
			return s, nil, err.(*Error)
		}
		s.lines, s.ended = contentLines(*op.Content), strings.HasSuffix(*op.Content, "\n")
	}
	l := &locator{finder: d, index: index, inserts: s.insert}
	switch {
	case op.Op == ReplaceAll: // its lines are found by what they hold
		return s, nil, nil
	case op.Anchor == "": // at an end of the file, whatever its lines are
		s.gap, s.beside = op.end(d.file)
		return s, nil, nil
	}
	first, last, err := l.findRange(op)
	if err != nil {
		return s, nil, err
	}
	switch op.Op {
	case InsertAfter, Append:
		s.gap, s.beside = first, first
	case InsertBefore, Prepend:
		s.gap, s.beside = max(first-1, 0), first
	default:
		s.first, s.last = first, last
	}
	return s, l.moved, nil
}

// locator finds the lines of one operation.
type locator struct {
	*finder
	index   int // of the operation
	inserts bool
	moved   []Relocation
}

// find finds the line of an anchor.
func (l *locator) find(text string) (int, *Error) {
	a, err := l.parse(text)
	if err != nil {
		return 0, err
	}
	if a.line == 0 && !l.inserts {
		return 0, refuse(Invalid, "anchor 0: is for inserting into an empty file; "+
			"give the anchor of the line that is to change")
	}
	n, err := l.resolve(a)
	if err == nil && n != a.line {
		l.moved = append(l.moved, Relocation{l.index, a.text, n})
	}
	return n, err
}

// findRange finds the first and the last line of an operation, which are the same without an end anchor.
func (l *locator) findRange(op Operation) (first, last int, err *Error) {
	first, err = l.find(op.Anchor)
	if err != nil {
		if op.EndAnchor != "" { // a miscount is often one of both ends
			if _, other := l.find(op.EndAnchor); other != nil {
				err.add(other)
			}
		}
		return 0, 0, err
	}
	last = first
	if op.EndAnchor != "" {
		if last, err = l.find(op.EndAnchor); err != nil {
			return 0, 0, err
		}
	}
	if last < first {
		return 0, 0, refuse(Overlap, "the range is backwards: anchor %s is line %d and end_anchor %s is line %d; "+
			"exchange them if all lines between are meant", quote(op.Anchor), first, quote(op.EndAnchor), last)
	}
	return first, last, checkLength(op, first, last)
}
