package hashline

import (
	"bytes"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
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
	for i, op := range operations {
		s, moved, err := op.locate(d, i)
		if err == nil && s.op == ReplaceAll {
			err = p.replaceAll(f, op, s)
		} else {
			p.steps = append(p.steps, s)
		}
		if err != nil {
			return p, err.in(i)
		}
		p.moved = append(p.moved, moved...)
	}
	return p, nil
}

// replaceAll adds a step for each line of an operation that has its text as a whole word.
func (p *plan) replaceAll(f *File, op Operation, s step) *Error {
	done := Replacement{Operation: s.index}
	for n := 1; n <= f.Lines(); n++ {
		line, count, left := replaceWords(f.Line(n), op.Anchor, *op.Content)
		if count > 0 {
			p.steps = append(p.steps, step{index: s.index, op: s.op, first: n, last: n, lines: [][]byte{line}})
		}
		if done.Count, done.Left = done.Count+count, done.Left+left; left > 0 && done.LeftLine == 0 {
			done.LeftLine = n
		}
	}
	p.replaced = append(p.replaced, done)
	switch {
	case done.Count > 0:
		return nil
	case done.Left > 0:
		err := refuse(AnchorNotFound, "%s stands only inside of longer words, first in line %d; give the whole word",
			quote(op.Anchor), done.LeftLine)
		err.Candidates = []int{done.LeftLine}
		return err
	}
	return refuse(AnchorNotFound, "no line has %s; it is looked for as it is, letter for letter", quote(op.Anchor))
}

// replaceWords replaces a text in a line as often as count says, and leaves it where it is a part of a longer word.
func replaceWords(line []byte, find, by string) (replaced []byte, count, left int) {
	for at := 0; ; {
		i := bytes.Index(line[at:], []byte(find))
		if i < 0 {
			return append(replaced, line[at:]...), count, left
		}
		from, end := at+i, at+i+len(find)
		if isCut(line, from) || isCut(line, end) {
			_, size := utf8.DecodeRune(line[from:])
			replaced = append(replaced, line[at:from+size]...)
			at = from + size
			left++
			continue
		}
		replaced = append(append(replaced, line[at:from]...), by...)
		at = end
		count++
	}
}

// isCut reports whether an offset of a line is inside of a word.
func isCut(line []byte, at int) bool {
	isWord := func(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }
	before, _ := utf8.DecodeLastRune(line[:at])
	after, _ := utf8.DecodeRune(line[at:])
	return isWord(before) && isWord(after)
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
	err := refuse(AnchorNotFound, "the range %s to %s is of %d lines as you number them, and would be of %d, lines %d to "+
		"%d, where the tags are found; give the numbers and tags of its first and its last line anew", from.text, to.text,
		to.line-from.line+1, last-first+1, first, last)
	err.Candidates = []int{first, last}
	return err
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
		if err := CheckContent(*op.Content, d.file, d.options); err != nil {
			return s, nil, err.(*Error)
		}
		s.lines, s.ended = contentLines(*op.Content), strings.HasSuffix(*op.Content, "\n")
	}
	var moved []Relocation
	find := func(text string) (int, *Error) {
		a, err := d.parse(text)
		if err != nil {
			return 0, err
		}
		if a.line == 0 && !s.insert {
			return 0, refuse(Invalid, "anchor 0: is for inserting into an empty file; "+
				"give the anchor of the line that is to change")
		}
		n, err := d.resolve(a)
		if err == nil && n != a.line {
			moved = append(moved, Relocation{index, a.text, n})
		}
		return n, err
	}
	switch {
	case op.Op == ReplaceAll: // its lines are found by what they hold
		return s, nil, nil
	case op.Anchor == "": // at an end of the file, whatever its lines are
		s.gap, s.beside = op.end(d.file)
		return s, nil, nil
	}
	first, err := find(op.Anchor)
	if err != nil {
		if op.EndAnchor != "" { // a miscount is often one of both ends
			if _, other := find(op.EndAnchor); other != nil {
				err.add(other)
			}
		}
		return s, nil, err
	}
	last := first
	if op.EndAnchor != "" {
		if last, err = find(op.EndAnchor); err != nil {
			return s, nil, err
		}
	}
	if last < first {
		return s, nil, refuse(Overlap, "the range is backwards: anchor %s is line %d and end_anchor %s is line %d; "+
			"exchange them if all lines between are meant", quote(op.Anchor), first, quote(op.EndAnchor), last)
	}
	if err := checkLength(op, first, last); err != nil {
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
	return s, moved, nil
}
