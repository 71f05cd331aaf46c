package main

import (
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/hashline"
)

// text is a file as a person sees it: lines, and how they end. All of them end in one way.
type text struct {
	bom    bool
	lines  []string
	ending string // "\n" or "\r\n"
	open   bool   // the last line has no ending
}

const byteOrderMark = "\ufeff"

// textOfFile divides a file whose lines all end in one way.
func textOfFile(data string) text {
	t := text{ending: "\n"}
	data, t.bom = strings.CutPrefix(data, byteOrderMark)
	if strings.Contains(data, "\r\n") {
		t.ending = "\r\n"
	}
	if data == "" {
		return t
	}
	t.lines = strings.Split(data, t.ending)
	if last := len(t.lines) - 1; t.lines[last] == "" {
		t.lines = t.lines[:last]
	} else {
		t.open = true
	}
	return t
}

// String returns the file.
func (t text) String() string {
	s := strings.Join(t.lines, t.ending)
	if len(t.lines) > 0 && !t.open {
		s += t.ending
	}
	if t.bom {
		s = byteOrderMark + s
	}
	return s
}

// line returns line n, from 1, as servers print it.
func (t text) line(n int) string {
	if n == 1 && t.bom {
		return byteOrderMark + t.lines[0]
	}
	return t.lines[n-1]
}

// tag is the tag of line n.
func (t text) tag(n int) string {
	return hashline.Tag(hashline.Hash([]byte(t.line(n))), hashline.MinWidth)
}

// tagged reports how many lines have a tag, and the last one that does.
func (t text) tagged(tag string) (count, line int) {
	for n := range t.lines {
		if t.tag(n+1) == tag {
			count++
			line = n + 1
		}
	}
	return count, line
}

// change is one operation as it is meant: lines first to last of a file become others, or
// get others before or after them. In an empty file first is 0.
type change struct {
	op          string // replace, delete, insert_after or insert_before
	first, last int
	lines       []string
}

// ranged reports whether the change concerns several lines.
func (c change) ranged() bool { return c.last > c.first }

// inserts reports whether the change only adds lines.
func (c change) inserts() bool { return c.op == "insert_after" || c.op == "insert_before" }

// content is the new lines as one string.
func (c change) content() string { return strings.Join(c.lines, "\n") }

// apply returns the text with changes that do not meet, in any order.
func (t text) apply(changes []change) text {
	changes = slices.Clone(changes)
	slices.SortStableFunc(changes, func(a, b change) int { return b.first - a.first })
	out := t
	out.lines = slices.Clone(t.lines)
	for _, c := range changes {
		switch {
		case c.first == 0:
			out.lines = slices.Clone(c.lines)
		case c.op == "insert_before":
			out.lines = slices.Insert(out.lines, c.first-1, c.lines...)
		case c.op == "insert_after":
			out.lines = slices.Insert(out.lines, c.last, c.lines...)
		default:
			out.lines = slices.Replace(out.lines, c.first-1, c.last, c.lines...)
		}
	}
	return out
}
