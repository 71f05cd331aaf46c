package hashline

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The operations.
const (
	Replace      = "replace"
	ReplaceRange = "replace_range"
	InsertAfter  = "insert_after"
	InsertBefore = "insert_before"
	Delete       = "delete"
	DeleteRange  = "delete_range"
)

// Operation is one change, anchored in the file before the edit.
type Operation struct {
	Op        string
	Anchor    string
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
func (s step) name() string { return opName(s.index, s.op) }

func opName(index int, op string) string {
	return "operation " + strconv.Itoa(index+1) + " (" + op + ")"
}

// locate checks each operation by itself and finds its lines.
func locate(f *File, operations []Operation, o Options) ([]step, []Relocation, *Error) {
	if len(operations) == 0 {
		return nil, nil, refuse(Invalid, "there are no operations")
	}
	d := &finder{file: f, options: o}
	var steps []step
	var moved []Relocation
	for i, op := range operations {
		s, m, err := op.locate(d, i)
		if err != nil {
			err.message = "operation " + strconv.Itoa(i+1) + ": " + err.message
			return nil, nil, err.about(i)
		}
		steps = append(steps, s)
		moved = append(moved, m...)
	}
	return steps, moved, nil
}

// check refuses an operation that is not well formed, whatever the file holds.
func (op Operation) check() *Error {
	switch {
	case !op.deletes() && !op.inserts() && op.Op != Replace && op.Op != ReplaceRange:
		return refuse(Invalid, "op %s is none of replace, replace_range, insert_after, insert_before, "+
			"delete, delete_range", quote(op.Op))
	case (op.Op == ReplaceRange || op.Op == DeleteRange) && op.EndAnchor == "":
		return refuse(Invalid, "%s needs end_anchor", op.Op)
	case op.inserts() && op.EndAnchor != "":
		return refuse(Invalid, "%s takes no end_anchor", op.Op)
	case op.deletes() && op.Content != nil && *op.Content != "":
		return refuse(Invalid, "%s takes no content; to put other lines there, use replace", op.Op)
	case !op.deletes() && op.Content == nil:
		return refuse(Invalid, "%s needs content; to remove lines, use delete", op.Op)
	}
	return nil
}

func (op Operation) deletes() bool { return op.Op == Delete || op.Op == DeleteRange }

func (op Operation) inserts() bool { return op.Op == InsertAfter || op.Op == InsertBefore }

// locate finds the lines of the operation, which is that with the given index, and says which
// anchors it moved.
func (op Operation) locate(d *finder, index int) (step, []Relocation, *Error) {
	s := step{index: index, op: op.Op, insert: op.inserts()}
	if err := op.check(); err != nil {
		return s, nil, err
	}
	if !op.deletes() {
		var err *Error
		if s.lines, err = contentLines(*op.Content, d.options.Width); err != nil {
			return s, nil, err
		}
	}
	var moved []Relocation
	find := func(text string) (int, *Error) {
		a, err := parseAnchor(text, d.options.Width)
		if err != nil {
			return 0, err
		}
		if a.line == 0 && !s.insert {
			return 0, refuse(Invalid, "anchor 0: is for inserting into an empty file")
		}
		n, err := d.resolve(a)
		if err == nil && n != a.line {
			moved = append(moved, Relocation{index, a.text, n})
		}
		return n, err
	}
	first, err := find(op.Anchor)
	if err != nil {
		return s, nil, err
	}
	last := first
	if op.EndAnchor != "" {
		if last, err = find(op.EndAnchor); err != nil {
			return s, nil, err
		}
	}
	if last < first {
		return s, nil, refuse(Overlap, "the range is backwards: anchor %s is line %d and end_anchor %s is line %d",
			quote(op.Anchor), first, quote(op.EndAnchor), last)
	}
	switch op.Op {
	case InsertAfter:
		s.gap, s.beside = first, first
	case InsertBefore:
		s.gap, s.beside = max(first-1, 0), first
	default:
		s.first, s.last = first, last
	}
	return s, moved, nil
}

// echoedTag matches lines as they are printed, by the width of tags.
var echoedTag = map[int]*regexp.Regexp{
	2: regexp.MustCompile(`^[0-9]+:[0-9a-f]{2}\|`),
	3: regexp.MustCompile(`^[0-9]+:[0-9a-f]{3}\|`),
	4: regexp.MustCompile(`^[0-9]+:[0-9a-f]{4}\|`),
}

// contentLines divides content into lines without endings.
func contentLines(content string, width int) ([][]byte, *Error) {
	if err := CheckContent(content, width); err != nil {
		return nil, err.(*Error)
	}
	lines := bytes.Split([]byte(strings.TrimSuffix(content, "\n")), []byte{'\n'})
	for i, line := range lines {
		lines[i] = bytes.TrimRight(line, "\r")
	}
	return lines, nil
}

// CheckContent refuses content that is no text, or of which every line begins with a tag
// as a reader is shown it. Its error is an *[Error].
func CheckContent(content string, width int) error {
	if i := strings.IndexByte(content, 0); i >= 0 || !utf8.ValidString(content) {
		return refuse(Binary, "content is not text: it holds a NUL or is not UTF-8")
	}
	for line := range strings.Lines(content) {
		if !echoedTag[width].MatchString(line) {
			return nil
		}
	}
	if content == "" {
		return nil
	}
	return refuse(EchoedTags, "each line of content begins with a tag such as %s; give the text after the bar only",
		quote(echoedTag[width].FindString(content)))
}

// arrange sorts the steps by place and refuses those that meet.
func arrange(steps []step) *Error {
	slices.SortStableFunc(steps, func(a, b step) int { return a.place() - b.place() })
	for i := 1; i < len(steps); i++ {
		a, b := steps[i-1], steps[i]
		if !a.insert && b.place() <= 2*a.last {
			why := "both change line " + strconv.Itoa(max(b.first, a.first))
			if b.insert {
				why = "the second inserts into the lines " + strconv.Itoa(a.first) + " to " + strconv.Itoa(a.last) +
					" of the first"
			}
			return refuse(Overlap, "%s and %s overlap: %s", a.name(), b.name(), why).about(a.index, b.index)
		}
	}
	// Steps are disjoint now. An insertion beside a deleted line has lost its anchor.
	for i, s := range steps {
		if !s.insert {
			continue
		}
		before, after := i-1, i+1
		for before >= 0 && steps[before].insert && steps[before].gap == s.gap {
			before--
		}
		for after < len(steps) && steps[after].insert && steps[after].gap == s.gap {
			after++
		}
		for _, j := range []int{before, after} {
			if j >= 0 && j < len(steps) && steps[j].deletes(s.beside) {
				a, b := steps[min(i, j)], steps[max(i, j)]
				why := "one inserts beside line " + strconv.Itoa(s.beside) + " and the other deletes it; use replace"
				return refuse(Overlap, "%s and %s overlap: %s", a.name(), b.name(), why).about(a.index, b.index)
			}
		}
	}
	return nil
}
