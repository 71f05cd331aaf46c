package hashline

import (
	"fmt"
	"strconv"
	"strings"
)

// maxCandidates is how many lines an error lists, and maxShown how many of them with their text.
const (
	maxCandidates = 10
	maxShown      = 3
)

// explain is the error of an anchor that does not hold and is not moved. It names the anchors
// that would hold, so that the next try can be right.
func (d *finder) explain(a anchor) (err *Error) {
	found, count := d.candidates(a)
	tag := Tag(a.tag, a.width)
	switch {
	case count == 0:
		err = refuse(AnchorNotFound, "anchor %s: %s; no line has tag %s. %s",
			a.text, d.describe(a), tag, d.advise(a))
	case count == 1 && d.options.Exact:
		err = refuse(AnchorNotFound, "anchor %s: %s; tag %s is that of %s, and anchors are not moved here. "+
			"Use the one that is meant", a.text, d.describe(a), tag, d.show(found[0], a.width))
	case count == 1:
		err = refuse(AnchorNotFound, "anchor %s: %s; tag %s is that of %s, farther away than the %d lines by which "+
			"anchors are moved here. Use the one that is meant",
			a.text, d.describe(a), tag, d.show(found[0], a.width), d.options.Reach)
	default:
		err = refuse(AnchorAmbiguous, "anchor %s: %s; %d other lines have tag %s: %s. Use the one that is meant",
			a.text, d.describe(a), count, tag, d.list(found, count, a.width))
	}
	err.Candidates = found
	if a.line <= d.file.Lines() {
		err.Line = a.line
	}
	return err
}

// candidates are the lines with the anchor's tag, the nearest to the line that it names first,
// of two the one above; and how many there are in all.
func (d *finder) candidates(a anchor) (found []int, count int) {
	n := d.file.Lines()
	from := min(a.line, n)
	try := func(line int) {
		if line < 1 || line > n || !a.matches(d.file, line) {
			return
		}
		if count++; len(found) < maxCandidates {
			found = append(found, line)
		}
	}
	for away := 0; away < n; away++ {
		try(from - away)
		if away > 0 {
			try(from + away)
		}
	}
	return found, count
}

// describe says what stands at the anchor's line in its place.
func (d *finder) describe(a anchor) string {
	switch n := d.file.Lines(); {
	case n == 0:
		return "the file is empty"
	case a.line > n:
		return fmt.Sprintf("the file has %d lines, the last is %s", n, d.show(n, a.width))
	}
	return fmt.Sprintf("line %d is %s", a.line, d.show(a.line, a.width))
}

// advise says what to do where no line has the anchor's tag.
func (d *finder) advise(a anchor) string {
	switch n := d.file.Lines(); {
	case n == 0:
		return "Use append, which needs no anchor"
	case a.line > n:
		return "Give the anchor of the line that is meant as it was shown"
	}
	return "Use " + d.anchor(a.line, a.width) + " if that line is meant, else the anchor of the one that is, as " +
		"it was shown"
}

// anchor is the anchor of a line, with a tag at least as wide as is shown.
func (d *finder) anchor(line, width int) string {
	return Anchor(line, d.file.Line(line), max(width, d.options.Width))
}

// show is the anchor of a line and the beginning of its text.
func (d *finder) show(line, width int) string {
	return d.anchor(line, width) + " (" + quoteShort(string(d.file.Line(line)), 40) + ")"
}

// list shows lines, of which there are count in all.
func (d *finder) list(lines []int, count, width int) string {
	var shown []string
	for i, n := range lines {
		if i < maxShown {
			shown = append(shown, d.show(n, width))
		} else {
			shown = append(shown, d.anchor(n, width))
		}
	}
	if count > len(lines) {
		shown = append(shown, fmt.Sprintf("and %d more", count-len(lines)))
	}
	return strings.Join(shown, ", ")
}

// parse reads an anchor. If it lacks the tag, the error says which the line has.
func (d *finder) parse(text string) (anchor, *Error) {
	a, err := parseAnchor(text, d.options.Width)
	if err == nil {
		return a, nil
	}
	number, _, _ := strings.Cut(strings.TrimSpace(text), ":")
	if n, e := strconv.Atoi(number); e == nil && 1 <= n && n <= d.file.Lines() && number[0] != '+' {
		err.message += fmt.Sprintf("; line %d is %s", n, d.show(n, 0))
		err.Line = n
	}
	return a, err
}
