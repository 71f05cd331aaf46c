package hashline

import (
	"regexp"
	"strconv"
	"strings"
)

// anchor is a parsed anchor.
type anchor struct {
	text  string // as shown in messages: "2:f1"
	line  int
	tag   uint64
	width int // 0 in "0:"
}

var anchorForm = regexp.MustCompile(`^(0|[1-9][0-9]{0,9}):([0-9A-Fa-f]{0,4})(?:\|(?s:.*))?$`)

// parseAnchor reads "NUMBER:TAG" with a tag of at least width digits, or "0:".
func parseAnchor(s string, width int) (anchor, *Error) {
	m := anchorForm.FindStringSubmatch(strings.TrimSpace(s))
	if m == nil {
		return anchor{}, refuse(Invalid, "anchor %s is not NUMBER:TAG, as in \"2:f1\"", quote(s))
	}
	a := anchor{text: m[1] + ":" + strings.ToLower(m[2]), width: len(m[2])}
	var err error
	if a.line, err = strconv.Atoi(m[1]); err != nil {
		return anchor{}, refuse(Invalid, "anchor %s is not NUMBER:TAG, as in \"2:f1\"", quote(s))
	}
	if a.line == 0 {
		if a.width > 0 {
			return anchor{}, refuse(Invalid,
				"anchor %s: lines are counted from 1; \"0:\" stands for the beginning of an empty file", a.text)
		}
		return a, nil
	}
	if a.width < width {
		return anchor{}, refuse(Invalid, "anchor %s has a tag of %d digits, and this file's have %d",
			a.text, a.width, width)
	}
	a.tag, err = strconv.ParseUint(m[2], 16, 16)
	if err != nil {
		return anchor{}, refuse(Invalid, "anchor %s is not NUMBER:TAG, as in \"2:f1\"", quote(s))
	}
	return a, nil
}

// quote shows the beginning of text from outside.
func quote(s string) string {
	const most = 60
	if len(s) > most {
		return strconv.QuoteToASCII(s[:most]) + "..."
	}
	return strconv.QuoteToASCII(s)
}

// matches reports whether line n has the anchor's tag.
func (a anchor) matches(f *File, n int) bool {
	return Hash(f.Line(n))&(1<<(4*a.width)-1) == a.tag
}

// maxCandidates is how many lines an error lists.
const maxCandidates = 10

// resolve finds the line of an anchor: the one that it names or else, if the options let
// anchors be moved so far, the only other one with its tag.
func (d *finder) resolve(a anchor) (line int, err *Error) {
	if a.line == 0 {
		if d.file.Lines() > 0 {
			return 0, refuse(AnchorNotFound, "anchor 0: stands for the beginning of an empty file; "+
				"this one is not empty, so use insert_before with the anchor of line 1")
		}
		return 0, nil
	}
	if line := d.find(a); line > 0 {
		return line, nil
	}
	return 0, d.explain(a)
}

// explain is the error of an anchor that does not hold and is not moved.
func (d *finder) explain(a anchor) (err *Error) {
	f := d.file
	var found []int
	count := 0
	for n := 1; n <= f.Lines(); n++ {
		if a.matches(f, n) {
			if count++; len(found) < maxCandidates {
				found = append(found, n)
			}
		}
	}
	switch {
	case count == 0:
		err = refuse(AnchorNotFound, "anchor %s: %s, and no other line has this tag; read the lines again",
			a.text, a.describeLine(f))
	case count == 1 && d.options.Exact:
		err = refuse(AnchorNotFound, "anchor %s: %s; line %d has this tag, but anchors are taken exactly",
			a.text, a.describeLine(f), found[0])
	case count == 1:
		err = refuse(AnchorNotFound, "anchor %s: %s; line %d has this tag, but is more than %d lines away",
			a.text, a.describeLine(f), found[0], d.options.Reach)
	default:
		err = refuse(AnchorAmbiguous, "anchor %s: %s, and %d other lines have this tag: %s",
			a.text, a.describeLine(f), count, joinNumbers(found, count))
	}
	err.Candidates = found
	if a.line <= f.Lines() {
		err.Line = a.line
	}
	return err
}

// describeLine says, for a message, which tag stands at the anchor's line in its place.
func (a anchor) describeLine(f *File) string {
	if a.line > f.Lines() {
		return "the file has " + strconv.Itoa(f.Lines()) + " lines"
	}
	return "line " + strconv.Itoa(a.line) + " has tag " + Tag(Hash(f.Line(a.line)), a.width)
}

// joinNumbers prints the numbers of lines, of which there are count in all.
func joinNumbers(lines []int, count int) string {
	var b strings.Builder
	for i, n := range lines {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(strconv.Itoa(n))
	}
	if count > len(lines) {
		b.WriteString(", ...")
	}
	return b.String()
}
