package jsonrpc

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/hallmark-mcp/hallmark/surface"
)

// Object validates the object that begins at b[i], returns its end, and sets out[k]
// to the value of the member named want[k]. Names are compared after unescaping.
// A wanted member that is given twice, or another whose name equals a wanted one
// under case folding only, is an error; the object is scanned to its end all the
// same, so that the other members are known, and only the first such error is
// returned.
func (s *Scanner) Object(b []byte, i int, want [][]byte, out []Span) (int, error) {
	clear(out)
	if i >= len(b) || b[i] != '{' {
		return i, ErrSyntax
	}
	i = SkipSpace(b, i+1)
	if i < len(b) && b[i] == '}' {
		return i + 1, nil
	}
	var fault error
	for {
		name := i
		var ok bool
		if i, ok = ScanName(b, i); !ok {
			return i, ErrSyntax
		}
		end, err := s.Value(b, i)
		if err != nil {
			return end, err
		}
		k, err := s.match(b, name, want)
		switch {
		case err != nil:
		case k >= 0 && out[k].Present():
			err = ErrDuplicate
		case k >= 0:
			out[k] = Span{i, end}
		}
		if fault == nil {
			fault = err
		}
		if i = SkipSpace(b, end); i >= len(b) {
			return i, ErrSyntax
		}
		switch b[i] {
		case '}':
			return i + 1, fault
		case ',':
			i = SkipSpace(b, i+1)
		default:
			return i, ErrSyntax
		}
	}
}

// match returns the index in want of the member name whose quote is b[i], or -1.
func (s *Scanner) match(b []byte, i int, want [][]byte) (int, error) {
	end, _ := ScanString(b, i)
	name := b[i+1 : end-1]
	if bytes.IndexByte(name, '\\') >= 0 {
		s.scratch, _ = appendText(s.scratch[:0], name)
		name = s.scratch
	}
	for k, w := range want {
		if string(name) == string(w) {
			return k, nil
		}
	}
	for _, w := range want {
		// Letters outside ASCII that fold to ASCII ones take two or three bytes.
		if len(name) >= len(w) && len(name) <= 3*len(w) && bytes.EqualFold(name, w) {
			return -1, ErrFold
		}
	}
	return -1, nil
}

// Array validates the array that begins at b[i], returns its end, and calls each
// for every element, up to an error.
func (s *Scanner) Array(b []byte, i int, each func(Span) error) (int, error) {
	if i >= len(b) || b[i] != '[' {
		return i, ErrSyntax
	}
	i = SkipSpace(b, i+1)
	if i < len(b) && b[i] == ']' {
		return i + 1, nil
	}
	for {
		end, err := s.Value(b, i)
		if err != nil {
			return end, err
		}
		if err := each(Span{i, end}); err != nil {
			return end, err
		}
		if i = SkipSpace(b, end); i >= len(b) {
			return i, ErrSyntax
		}
		switch b[i] {
		case ']':
			return i + 1, nil
		case ',':
			i = SkipSpace(b, i+1)
		default:
			return i, ErrSyntax
		}
	}
}

// Text decodes the JSON string that is raw, quotes included. ok is false if raw is
// another value, holds a lone surrogate or is not UTF-8: two programs may read such
// a string differently.
func Text(raw []byte) (_ string, ok bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return "", false
	}
	inner := raw[1 : len(raw)-1]
	if !utf8.Valid(inner) {
		return "", false
	}
	if bytes.IndexByte(inner, '\\') < 0 {
		return string(inner), true
	}
	out, ok := appendText(nil, inner)
	return string(out), ok
}

// appendText appends a valid JSON string's inner text without its escapes. ok is
// false if a surrogate is alone; U+FFFD stands for it then.
func appendText(out, in []byte) (_ []byte, ok bool) {
	ok = true
	for i := 0; i < len(in); {
		if in[i] != '\\' {
			out = append(out, in[i])
			i++
			continue
		}
		c := in[i+1]
		i += 2
		switch c {
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'u':
			r, _ := surface.ReadUnit(in, i)
			i += 4
			if utf16.IsSurrogate(r) {
				pair := rune(utf8.RuneError)
				if i+6 <= len(in) && in[i] == '\\' && in[i+1] == 'u' {
					low, _ := surface.ReadUnit(in, i+2)
					pair = utf16.DecodeRune(r, low)
				}
				if r = pair; r == utf8.RuneError {
					ok = false
				} else {
					i += 6
				}
			}
			out = utf8.AppendRune(out, r)
		default:
			out = append(out, c)
		}
	}
	return out, ok
}

// CutMember is a copy of the object at whole without the member whose value is at
// value. Everything else stays byte for byte.
func CutMember(b []byte, whole, value Span) []byte {
	// The member's name begins at the last quote that opens a string before the
	// colon. Walk the members from the left to find it.
	var s Scanner
	i := SkipSpace(b, whole.Lo+1)
	for {
		start := i
		v, _ := ScanName(b, i)
		end, _ := s.Value(b, v)
		after := SkipSpace(b, end)
		if v == value.Lo {
			switch {
			case b[after] == ',': // with the comma after it
				end = SkipSpace(b, after+1)
			case b[before(b, start)] == ',': // the last one, with the comma before it
				start = before(b, start)
			}
			return append(bytes.Clone(b[whole.Lo:start]), b[end:whole.Hi]...)
		}
		i = SkipSpace(b, after+1)
	}
}

// before is the index of the last byte before i that is no white space.
func before(b []byte, i int) int {
	for i--; i > 0 && SkipSpace(b[:i+1], i) > i; i-- {
	}
	return i
}
