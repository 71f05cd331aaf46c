package reference

import "strings"

// text is what a file holds, with line feeds alone as line endings, and what the endings were. So a model that knows
// nothing of them finds its texts, and the endings stay.
type text struct {
	s    string
	crlf []bool // of each line feed in s
}

// normalize returns a text with line feeds alone as line endings.
func normalize(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }

func parseText(data []byte) *text {
	t := &text{s: normalize(string(data))}
	t.crlf = make([]bool, 0, strings.Count(t.s, "\n"))
	for i, c := range data {
		if c == '\n' {
			t.crlf = append(t.crlf, i > 0 && data[i-1] == '\r')
		}
	}
	return t
}

// bytes returns what the file is to hold.
func (t *text) bytes() []byte {
	out := make([]byte, 0, len(t.s)+len(t.crlf))
	rest := t.s
	for _, crlf := range t.crlf {
		i := strings.IndexByte(rest, '\n')
		out = append(out, rest[:i]...)
		if crlf {
			out = append(out, '\r')
		}
		out = append(out, '\n')
		rest = rest[i+1:]
	}
	return append(out, rest...)
}

// replace puts a text in place of the part from one offset to another. Its lines take the endings of those that they
// replace, in order, and then that of the line beside them.
func (t *text) replace(from, to int, with string) {
	first := strings.Count(t.s[:from], "\n")
	gone := t.crlf[first : first+strings.Count(t.s[from:to], "\n")]
	endings := make([]bool, 0, len(t.crlf)+strings.Count(with, "\n"))
	endings = append(endings, t.crlf[:first]...)
	for i := range strings.Count(with, "\n") {
		switch {
		case i < len(gone):
			endings = append(endings, gone[i])
		case len(endings) > 0:
			endings = append(endings, endings[len(endings)-1])
		default:
			endings = append(endings, len(t.crlf) > 0 && t.crlf[0])
		}
	}
	t.crlf = append(endings, t.crlf[first+len(gone):]...)
	t.s = t.s[:from] + with + t.s[to:]
}

// lineOf returns the number of the line, from 1, in which an offset lies.
func (t *text) lineOf(offset int) int { return strings.Count(t.s[:offset], "\n") + 1 }
