package jsscan

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// letterEscapes are the escapes of one letter.
var letterEscapes = map[byte]string{'n': "\n", 't': "\t", 'r': "\r", 'b': "\b", 'f': "\f", 'v': "\v"}

// unescape returns the text of a string or template, given the code between its quotes; false if an
// escape is invalid.
func unescape(s string) (string, bool) {
	if !strings.Contains(s, `\`) {
		return s, true
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		if i++; i == len(s) {
			return "", false
		}
		text, size, ok := readEscape(s[i:])
		if !ok {
			return "", false
		}
		b.WriteString(text)
		i += size - 1
	}
	return b.String(), true
}

// readEscape reads the escape at the beginning of s, without its backslash. It returns the text of
// the escape, and its size in bytes.
func readEscape(s string) (text string, size int, ok bool) {
	switch c := s[0]; {
	case letterEscapes[c] != "":
		return letterEscapes[c], 1, true
	case c == '\n':
		return "", 1, true
	case c == '\r':
		if strings.HasPrefix(s, "\r\n") {
			return "", 2, true
		}
		return "", 1, true
	case c == 'x':
		if len(s) < 3 {
			return "", 0, false
		}
		n, err := strconv.ParseUint(s[1:3], 16, 8)
		return string(rune(n)), 3, err == nil
	case c == 'u':
		r, size, ok := unicodeEscape(s[1:])
		return string(r), 1 + size, ok
	case '0' <= c && c <= '7':
		n := 1
		for n < len(s) && n < 3 && '0' <= s[n] && s[n] <= '7' {
			n++
		}
		v, _ := strconv.ParseUint(s[:n], 8, 16)
		if v > 0xff {
			n--
			v, _ = strconv.ParseUint(s[:n], 8, 16)
		}
		return string(rune(v)), n, true
	}
	r, size := utf8.DecodeRuneInString(s)
	if r == '\u2028' || r == '\u2029' { // a line continued
		return "", size, true
	}
	return s[:size], size, true
}

// unicodeEscape reads XXXX or {X…} after \u.
func unicodeEscape(s string) (r rune, size int, ok bool) {
	digits := ""
	if strings.HasPrefix(s, "{") {
		end := strings.IndexByte(s, '}')
		if end < 2 {
			return 0, 0, false
		}
		digits, size = s[1:end], end+1
	} else if len(s) >= 4 {
		digits, size = s[:4], 4
	}
	n, err := strconv.ParseUint(digits, 16, 32)
	return rune(n), size, err == nil && n <= utf8.MaxRune
}

// plainIdentifier returns a name with its escapes resolved.
func plainIdentifier(name []byte) string {
	s := string(name)
	if strings.Contains(s, `\`) {
		if plain, ok := unescape(s); ok {
			return plain
		}
	}
	return s
}
