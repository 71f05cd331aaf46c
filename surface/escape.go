package surface

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Escape makes text from outside safe to print on one line of a terminal, a
// page or a log: nothing in the result moves a cursor, reorders, hides or
// imitates. Printable text of any script is left as it is.
//
// What is not printable becomes one of
//
//	\n \r \t     line feed, carriage return, tab
//	\xHH         another control below U+0080, or a byte that is not UTF-8
//	\u{H…}       any other code point, C1 controls included; lower-case hex
//	             without leading zeros
//
// A backslash that stands before one of n, r, t, x, u or another backslash
// is doubled, as otherwise text could imitate an escape; a backslash elsewhere
// is left alone, so that C:\Program Files stays readable. Different texts have
// different results.
func Escape(s string) string { return escape(s, true) }

// EscapeSentence is Escape for what was written here, such as a reason, or a line to write instead. What it quotes has
// the escapes of its quotation marks already, as in "C:\\Users", so every backslash is left alone.
func EscapeSentence(s string) string { return escape(s, false) }

func escape(s string, doubles bool) string {
	clean := true
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < ' ' || c >= 0x7f || c == '\\' {
			clean = false
			break
		}
	}
	if clean {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '\\':
			b.WriteByte('\\')
			if doubles && readsAsEscape(s[i+1:]) {
				b.WriteByte('\\')
			}
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < 0x80 && classify(r) != "":
			fmt.Fprintf(&b, `\x%02x`, r)
		case classify(r) != "":
			fmt.Fprintf(&b, `\u{%x}`, r)
		default:
			b.WriteString(s[i : i+size])
		}
		i += size
	}
	return b.String()
}

// readsAsEscape reports whether a backslash before rest could be read as the
// beginning of an escape: of one written there, or of one that Escape writes.
func readsAsEscape(rest string) bool {
	if rest == "" {
		return false
	}
	switch rest[0] {
	case 'n', 'r', 't', 'x', 'u', '\\':
		return true
	}
	r, size := utf8.DecodeRuneInString(rest)
	return r == utf8.RuneError && size == 1 || classify(r) != ""
}
