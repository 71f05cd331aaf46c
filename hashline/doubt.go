package hashline

import "bytes"

// Doubt says that new lines may not be what was meant. They are applied as they are.
type Doubt struct {
	Operation int // by index
	Kind      DoubtKind
}

// DoubtKind is what may not be meant.
type DoubtKind int

// The kinds of doubts.
const (
	// BlankLost: content ended with one line feed, which ends its last line, and no blank line is now where one stood
	// behind the old lines or, at an insertion, between the lines that it parts.
	BlankLost     DoubtKind = iota
	SpacesForTabs           // new lines are indented with spaces, and the lines of the file with tabs
	TabsForSpaces           // the other way
)

// doubts are those about the plan for a file.
func (p plan) doubts(f *File) (found []Doubt) {
	style := f.indentation()
	for _, s := range p.steps {
		if s.op == ReplaceAll {
			continue
		}
		if s.ended && f.losesBlank(s) {
			found = append(found, Doubt{s.index, BlankLost})
		}
		switch is := indentationOf(s.lines); {
		case style == tabs && is == spaces:
			found = append(found, Doubt{s.index, SpacesForTabs})
		case style == spaces && is == tabs:
			found = append(found, Doubt{s.index, TabsForSpaces})
		}
	}
	return found
}

// losesBlank reports whether a blank line is missing behind the new lines of a step, if the line feed at their end was
// meant to be one.
func (f *File) losesBlank(s step) bool {
	blank := func(n int) bool { return 1 <= n && n <= f.Lines() && len(trimSpace(f.Line(n))) == 0 }
	if n := len(s.lines); n == 0 || len(trimSpace(s.lines[n-1])) == 0 {
		return false
	}
	if s.insert {
		return s.gap < f.Lines() && blank(s.gap) && !blank(s.gap+1)
	}
	return blank(s.last) && !blank(s.last+1)
}

// indent is what lines are indented with.
type indent int

const (
	neither indent = iota
	tabs
	spaces
)

// maxIndented is how many lines of a file are looked at for its indentation.
const maxIndented = 10_000

// indentation is what nearly all lines of the file are indented with.
func (f *File) indentation() indent {
	var lines [][]byte
	for n := 1; n <= min(f.Lines(), maxIndented); n++ {
		lines = append(lines, f.Line(n))
	}
	return indentationOf(lines)
}

// indentationOf is what at least nine of ten lines that are indented at all are indented with.
func indentationOf(lines [][]byte) indent {
	var byTab, bySpace int
	for _, line := range lines {
		switch {
		case bytes.HasPrefix(line, []byte{'\t'}):
			byTab++
		case bytes.HasPrefix(line, []byte("  ")) && len(trimSpace(line)) > 0:
			bySpace++
		}
	}
	switch all := byTab + bySpace; {
	case all == 0:
		return neither
	case 10*byTab >= 9*all:
		return tabs
	case 10*bySpace >= 9*all:
		return spaces
	}
	return neither
}
