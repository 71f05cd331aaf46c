package hashline

import (
	"bytes"
	"slices"
)

// Options are how anchors are read.
type Options struct {
	Width int  // of the tags that readers are shown; 0 is MinWidth
	Exact bool // never move an anchor to another line
	Reach int  // most lines that an anchor may be moved; 0 is any

	// Tagged lets content hold what readers are shown besides the text of lines. Otherwise a line of it is refused as
	// copied from what was shown if it begins with NUMBER:TAG| and the tag belongs to the text behind the bar, or to
	// the line with this number in the file that was read; if it is the header of a file; and if it holds the mark of
	// a line that was shown in part.
	Tagged bool
}

func (o Options) width() int { return min(max(o.Width, MinWidth), MaxWidth) }

// Relocation says that the line of an anchor has another tag, and where its tag was found.
type Relocation struct {
	Operation int    // by index
	Anchor    string // as given
	Line      int    // where its tag was found
}

// Hunk is a stretch of lines that was replaced by another. A count of 0 stands for the place
// before the line.
type Hunk struct {
	OldFirst, OldLines int
	NewFirst, NewLines int
}

// Result is an edited file.
type Result struct {
	Old, New  *File
	Hunks     []Hunk // in order, not touching
	Relocated []Relocation
	Replaced  []Replacement
	Repeated  []Repetition // in order
	Doubts    []Doubt      // in order
}

// Replacement says how often [ReplaceAll] replaced its text.
type Replacement struct {
	Operation int // by index
	Count     int
	Left      int // inside of longer words
	LeftLine  int // the first line that has it so, of the file before the edit
}

// Bytes are the bytes of the edited file.
func (r *Result) Bytes() []byte { return r.New.data }

// Edit applies operations to a file. Its errors are of type *[Error]; the operations are
// applied together or not at all.
func Edit(data []byte, operations []Operation, o Options) (*Result, error) {
	f, err := Parse(data)
	if err != nil {
		return nil, err
	}
	changes, p, err := planChanges(f, operations, o)
	if err != nil {
		return nil, err
	}
	return applyChanges(f, f, changes, p)
}

// change replaces the bytes from at to end by text.
type change struct {
	at, end     int
	text        []byte
	first       int  // the first line that is replaced, or before which lines are inserted
	lines       int  // how many lines are removed
	added       int  // how many lines text holds
	unendedLast bool // the file's last line, which has no ending, gets one
	operation   int  // by index
}

// planChanges makes the changes of operations, in order.
func planChanges(f *File, operations []Operation, o Options) ([]change, plan, error) {
	o.Width = o.width()
	p, err := locate(f, operations, o)
	if err != nil {
		return nil, p, err
	}
	if err := arrange(p.steps); err != nil {
		return nil, p, err
	}
	changes := make([]change, len(p.steps))
	for i, s := range p.steps {
		changes[i] = f.replacement(s)
		changes[i].operation = s.index
	}
	return changes, p, nil
}

// replacement is the change that a step makes to the file.
func (f *File) replacement(s step) change {
	if s.insert {
		return f.insertion(s)
	}
	c := change{
		at: f.lineStart(s.first), end: f.lineStart(s.last + 1),
		first: s.first, lines: s.last - s.first + 1, added: len(s.lines),
	}
	for i, line := range s.lines {
		c.text = append(c.text, line...)
		end := ending(f.rawLine(s.last))
		if i < len(s.lines)-1 {
			end = f.ending(min(s.first+i, s.last))
		}
		c.text = append(c.text, end...)
	}
	return c
}

// insertion is the change of a step that inserts.
func (f *File) insertion(s step) change {
	c := change{at: f.lineStart(s.gap + 1), first: s.gap + 1, added: len(s.lines)}
	c.end = c.at
	end := f.ending(s.beside)
	if n := f.Lines(); s.gap == n && n > 0 && !f.FinalNewline() {
		// Behind a last line that is not ended: it gets an ending, and the last new line
		// has none.
		c.unendedLast = true
		for _, line := range s.lines {
			c.text = append(append(c.text, end...), line...)
		}
		return c
	}
	for _, line := range s.lines {
		c.text = append(append(c.text, line...), end...)
	}
	return c
}

// keepBOM lets the changes leave a byte order mark at the file's beginning where it is.
func (f *File) keepBOM(changes []change) {
	if !bytes.HasPrefix(f.data, []byte(bom)) {
		return
	}
	for i := range changes {
		if c := &changes[i]; c.at == 0 {
			c.at = len(bom)
			c.end = max(c.end, c.at)
		}
	}
}

// applyChanges makes the edited file. The plan was made for base.
func applyChanges(base, f *File, changes []change, p plan) (*Result, error) {
	f.keepBOM(changes)
	size := len(f.data)
	for _, c := range changes {
		size += len(c.text) - (c.end - c.at)
	}
	if size > MaxSize {
		return nil, refuse(TooLarge, "would have %d bytes, more than %d", size, MaxSize)
	}
	out := make([]byte, 0, size)
	at := 0
	for _, c := range changes {
		out = append(out, f.data[at:c.at]...)
		if string(out) == bom { // a mark that new lines bring to the beginning would be a second one
			c.text = bytes.TrimPrefix(c.text, []byte(bom))
		}
		out = append(out, c.text...)
		at = c.end
	}
	out = append(out, f.data[at:]...)
	if bytes.Equal(out, f.data) {
		why := ""
		if len(f.data) > 0 && !f.FinalNewline() && slices.ContainsFunc(p.steps, func(s step) bool { return s.ended }) {
			why = `; its last line has no line feed, and to append "" adds one`
		}
		return nil, refuse(NoChange, "the operations leave the file as it is: what they would write stands there "+
			"already; nothing was written%s", why)
	}
	edited, err := Parse(out)
	if err != nil {
		return nil, err
	}
	r := &Result{Old: f, New: edited, Hunks: changedHunks(f, edited, changes), Relocated: p.moved,
		Replaced: p.replaced, Doubts: p.doubts(base)}
	r.Repeated = r.repetitions(changes)
	return r, nil
}

// changedHunks are the lines that the changes make differ, those that touch as one hunk.
func changedHunks(f, edited *File, changes []change) []Hunk {
	var found []Hunk
	grown := 0 // lines that were added before
	for _, c := range changes {
		h := Hunk{c.first, c.lines, c.first + grown, c.added}
		grown += c.added - c.lines
		if c.unendedLast { // the line before changes, too
			h.OldFirst--
			h.OldLines++
			h.NewFirst--
			h.NewLines++
		}
		found = appendHunk(found, h)
	}
	// The line to or from which the byte order mark went changes, too.
	if h := &found[0]; bytes.HasPrefix(f.data, []byte(bom)) && h.OldFirst == 1 {
		if (h.OldLines == 0 || h.NewLines == 0) && h.OldLines < f.Lines() {
			h.OldLines++
			h.NewLines++
		}
		if len(found) > 1 {
			found = append(appendHunk(found[:1:1], found[1]), found[2:]...)
		}
	}
	// The last hunk ends where the edited file does: a new last line that is empty and without
	// an ending does not count as a line, and a byte order mark alone does.
	h := &found[len(found)-1]
	behind := f.Lines() - (h.OldFirst + h.OldLines - 1)
	h.NewLines = edited.Lines() - behind - (h.NewFirst - 1)
	return found
}

// appendHunk appends a hunk, or lets the last one grow if they touch.
func appendHunk(found []Hunk, h Hunk) []Hunk {
	if n := len(found); n > 0 && h.OldFirst <= found[n-1].OldFirst+found[n-1].OldLines {
		p := &found[n-1]
		p.OldLines = max(p.OldLines, h.OldFirst+h.OldLines-p.OldFirst)
		p.NewLines = max(p.NewLines, h.NewFirst+h.NewLines-p.NewFirst)
		return found
	}
	return append(found, h)
}
