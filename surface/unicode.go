package surface

import (
	"fmt"
	"slices"
	"unicode/utf16"
	"unicode/utf8"
)

// ReadUnit reads the four hex digits at s[i:] that stand after \u in a JSON string: a code
// point, or half of a surrogate pair. ok is false if they are not there.
func ReadUnit[T ~string | ~[]byte](s T, i int) (unit rune, ok bool) {
	if i+4 > len(s) {
		return 0, false
	}
	for k := range 4 {
		c := s[i+k]
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		unit = unit<<4 | rune(c)
	}
	return unit, true
}

// EscapeJSON returns a JSON document with a \u escape for each code point of which hide is
// true, or two beyond U+FFFF. hide must be true only for code points that JSON allows in
// strings alone, where an escape has the same meaning. Where nothing is hidden the result is document itself.
func EscapeJSON(document []byte, hide func(rune) bool) []byte {
	var hidden [utf8.RuneSelf]bool
	for c := range hidden {
		hidden[c] = hide(rune(c))
	}
	plain := slices.IndexFunc(document, func(c byte) bool { return c >= utf8.RuneSelf || hidden[c] })
	if plain < 0 {
		return document // nearly always
	}
	out := append(make([]byte, 0, len(document)), document[:plain]...)
	for _, r := range string(document[plain:]) {
		switch {
		case !hide(r):
			out = utf8.AppendRune(out, r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return out
}
