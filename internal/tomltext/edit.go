package tomltext

import (
	"bytes"
	"cmp"
	"slices"
)

// Edit replaces bytes of a file with a text.
type Edit struct {
	At   Span
	Text string
}

// Replace is the edit that puts text in the place of what is at a span.
func Replace(at Span, text string) Edit { return Edit{at, text} }

// Insert is the edit that puts text in front of the byte at an offset.
func Insert(at int, text string) Edit { return Edit{Span{at, at}, text} }

// Apply makes edits, which do not overlap.
func Apply(data []byte, edits ...Edit) []byte {
	// What is inserted at a place stands before what is replaced there.
	slices.SortStableFunc(edits, func(a, b Edit) int {
		return cmp.Or(a.At.Start-b.At.Start, a.At.End-b.At.End)
	})
	var out []byte
	at := 0
	for _, e := range edits {
		out = append(append(out, data[at:e.At.Start]...), e.Text...)
		at = e.At.End
	}
	return append(out, data[at:]...)
}

// LineEnd is how the file ends its lines.
func LineEnd(data []byte) string {
	if bytes.Contains(data, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}

// LineStart is the offset where the line begins that offset at is on.
func LineStart(data []byte, at int) int { return bytes.LastIndexByte(data[:at], '\n') + 1 }

// LineAfter is the offset behind the line that offset at is on, with its end.
func LineAfter(data []byte, at int) int {
	if i := bytes.IndexByte(data[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(data)
}

// NewlineBefore is what ends the line before offset at, where the file does not: "" if it does.
func NewlineBefore(data []byte, at int) string {
	if at > 0 && data[at-1] != '\n' {
		return LineEnd(data)
	}
	return ""
}

// Indent is the white space at the begin of the line that offset at is on, as far as at.
func Indent(data []byte, at int) string {
	line := data[LineStart(data, at):at]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}
