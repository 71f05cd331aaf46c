// Package jsonrpc reads the messages of JSON-RPC without decoding what is only passed on: it cuts a
// stream into lines, validates a line, finds the members by which a message is routed, and tells where
// they stand.
//
// It agrees with encoding/json on what is valid. It is stricter on what a message means: a routing
// member that is given twice, or under a name that differs in letter case only, is an error, because two
// programs may read such a message differently. Only lines that are no messages are read leniently, see
// [Candidate], to find which request they seem to answer. It does no I/O but for the reader of [Lines],
// and allocates nothing for what it passes.
//
// # What is remembered
//
// What is remembered of a server is bounded.
//
// # What the guard says
//
// What the guard says about a server are lines for the user, a log of calls, and the
// text of errors. Text of a server in them is escaped, cut and quoted, so that it neither acts on a
// terminal nor passes for Hallmark's own.
package jsonrpc

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/bits"

	"github.com/hallmark-mcp/hallmark/surface"
)

// Span is a part of a line, from Lo up to Hi. The zero span is absent.
type Span struct{ Lo, Hi int }

// Present reports whether there is such a part.
func (s Span) Present() bool { return s.Hi > 0 }

// Of is the part of the line b.
func (s Span) Of(b []byte) []byte { return b[s.Lo:s.Hi] }

// MaxNesting is the depth at which encoding/json stops too.
const MaxNesting = 10000

// The ways in which a message cannot be routed.
var (
	ErrSyntax    = errors.New("not valid JSON")
	ErrNesting   = errors.New("nested too deeply")
	ErrDuplicate = errors.New("a routing member is given twice")
	ErrFold      = errors.New("a member differs from a routing member only in letter case")
)

// Scanner validates JSON and finds members of objects, without allocating for what
// it passes. It is not safe for concurrent use.
type Scanner struct {
	// Rescan says that what is scanned is a part of what was scanned before without an error.
	Rescan bool

	stack   []byte // open containers
	scratch []byte // a member name without its escapes
}

// SkipSpace is the index of the first byte at or after i that is no white space.
func SkipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\r' || b[i] == '\t') {
		i++
	}
	return i
}

// Value validates the JSON value that begins at b[i] and returns its end.
func (s *Scanner) Value(b []byte, i int) (int, error) {
	s.stack = s.stack[:0]
	for {
		if i >= len(b) {
			return i, ErrSyntax
		}
		ok := false
		switch c := b[i]; c {
		case '"':
			if s.Rescan {
				i, ok = SkipString(b, i)
			} else {
				i, ok = ScanString(b, i)
			}
		case '{':
			if len(s.stack) == MaxNesting {
				return i, ErrNesting
			}
			i = SkipSpace(b, i+1)
			if i < len(b) && b[i] == '}' {
				i, ok = i+1, true
				break
			}
			s.stack = append(s.stack, '{')
			if i, ok = ScanName(b, i); !ok {
				return i, ErrSyntax
			}
			continue
		case '[':
			if len(s.stack) == MaxNesting {
				return i, ErrNesting
			}
			i = SkipSpace(b, i+1)
			if i < len(b) && b[i] == ']' {
				i, ok = i+1, true
				break
			}
			s.stack = append(s.stack, '[')
			continue
		case 't':
			i, ok = scanWord(b, i, "true")
		case 'f':
			i, ok = scanWord(b, i, "false")
		case 'n':
			i, ok = scanWord(b, i, "null")
		default:
			i, ok = scanNumber(b, i)
		}
		if !ok {
			return i, ErrSyntax
		}
		// After a value: close containers, or go on to the next value.
		for {
			if len(s.stack) == 0 {
				return i, nil
			}
			if i = SkipSpace(b, i); i >= len(b) {
				return i, ErrSyntax
			}
			open := s.stack[len(s.stack)-1]
			if b[i] == open+2 { // '{' and '}', '[' and ']' are two apart
				s.stack = s.stack[:len(s.stack)-1]
				i++
				continue
			}
			if b[i] != ',' {
				return i, ErrSyntax
			}
			i = SkipSpace(b, i+1)
			if open == '{' {
				if i, ok = ScanName(b, i); !ok {
					return i, ErrSyntax
				}
			}
			break
		}
	}
}

// ScanName reads a member's name and colon and returns where the value begins.
func ScanName(b []byte, i int) (int, bool) {
	if i >= len(b) || b[i] != '"' {
		return i, false
	}
	i, ok := ScanString(b, i)
	if !ok {
		return i, false
	}
	if i = SkipSpace(b, i); i >= len(b) || b[i] != ':' {
		return i, false
	}
	return SkipSpace(b, i+1), true
}

const (
	lows  = 0x0101010101010101
	highs = 0x8080808080808080
)

// special has the high bit of the lowest byte of w set that is a quote, a backslash or a
// control character, and none below. (Bits above that one may be wrong.)
func special(w uint64) uint64 {
	// The exclusive or moves the quote to where the space was, just above the control
	// characters, and these stay below it.
	q, e := w^(lows*2), w^(lows*'\\')
	return ((q - lows*('"'-1)) | (e - lows)) &^ w & highs
}

// ScanString returns the index after the string whose quote is b[i].
func ScanString(b []byte, i int) (int, bool) {
	i++
	for {
		for i+32 <= len(b) {
			p := b[i : i+32]
			if special(binary.LittleEndian.Uint64(p))|special(binary.LittleEndian.Uint64(p[8:]))|
				special(binary.LittleEndian.Uint64(p[16:]))|special(binary.LittleEndian.Uint64(p[24:])) != 0 {
				break
			}
			i += 32
		}
		for i+8 <= len(b) {
			if m := special(binary.LittleEndian.Uint64(b[i:])); m != 0 {
				i += bits.TrailingZeros64(m) / 8
				break
			}
			i += 8
		}
		if i >= len(b) {
			return i, false
		}
		switch c := b[i]; {
		case c == '"':
			return i + 1, true
		case c == '\\':
			if i+1 >= len(b) {
				return i, false
			}
			switch b[i+1] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
				i += 2
			case 'u':
				if _, ok := surface.ReadUnit(b, i+2); !ok {
					return i, false
				}
				i += 6
			default:
				return i, false
			}
		case c < ' ':
			return i, false
		default:
			i++
		}
	}
}

// SkipString is ScanString for a string that was scanned before, five times as fast.
func SkipString(b []byte, i int) (int, bool) {
	for {
		n := bytes.IndexByte(b[i+1:], '"')
		if n < 0 {
			return i, false
		}
		i += n + 1
		first := i // of the backslashes before the quote, of which each second one is escaped
		for b[first-1] == '\\' {
			first--
		}
		if (i-first)%2 == 0 {
			return i + 1, true
		}
	}
}

func scanWord(b []byte, i int, word string) (int, bool) {
	if len(b)-i < len(word) || string(b[i:i+len(word)]) != word {
		return i, false
	}
	return i + len(word), true
}

func scanNumber(b []byte, i int) (int, bool) {
	if i < len(b) && b[i] == '-' {
		i++
	}
	n := digits(b, i)
	if n == i || b[i] == '0' && n > i+1 {
		return i, false
	}
	i = n
	if i < len(b) && b[i] == '.' {
		if n = digits(b, i+1); n == i+1 {
			return i, false
		}
		i = n
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		if n = digits(b, i); n == i {
			return i, false
		}
		i = n
	}
	return i, true
}

func digits(b []byte, i int) int {
	for i < len(b) && '0' <= b[i] && b[i] <= '9' {
		i++
	}
	return i
}
