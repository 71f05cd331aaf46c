package jsscan

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tdewolff/parse/v2/js"
)

// fold returns the string that an expression has whenever it runs; ok is false if that is not known.
func fold(e js.INode) (string, bool) {
	switch e := e.(type) {
	case *js.GroupExpr:
		return fold(e.X)
	case *js.CommaExpr:
		if len(e.List) > 0 {
			return fold(e.List[len(e.List)-1])
		}
	case js.LiteralExpr:
		return fold(&e)
	case *js.LiteralExpr:
		if e.TokenType == js.StringToken && len(e.Data) >= 2 {
			return unescape(string(e.Data[1 : len(e.Data)-1]))
		}
	case *js.BinaryExpr:
		if e.Op == js.AddToken {
			x, ok := fold(e.X)
			if !ok {
				return "", false
			}
			y, ok := fold(e.Y)
			return x + y, ok
		}
	case *js.TemplateExpr:
		if e.Tag != nil {
			return "", false
		}
		var b strings.Builder
		for _, part := range e.List {
			text, ok := unescape(strings.TrimSuffix(strings.TrimLeft(string(part.Value), "`}"), "${"))
			if !ok {
				return "", false
			}
			x, ok := fold(part.Expr)
			if !ok {
				return "", false
			}
			b.WriteString(text + x)
		}
		text, ok := unescape(strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(string(e.Tail), "`"), "}"), "`"))
		return b.String() + text, ok
	}
	return "", false
}

// unescape returns the text of a string or template, given what stands between its quotes; false if an
// escape is none of the language.
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
		switch c := s[i]; c {
		case 'n':
			b.WriteByte('\n')
		case 't':
			b.WriteByte('\t')
		case 'r':
			b.WriteByte('\r')
		case 'b':
			b.WriteByte('\b')
		case 'f':
			b.WriteByte('\f')
		case 'v':
			b.WriteByte('\v')
		case '\n':
		case '\r':
			if i+1 < len(s) && s[i+1] == '\n' {
				i++
			}
		case 'x':
			if i+3 > len(s) {
				return "", false
			}
			n, err := strconv.ParseUint(s[i+1:min(i+3, len(s))], 16, 8)
			if err != nil {
				return "", false
			}
			b.WriteRune(rune(n))
			i += 2
		case 'u':
			r, size, ok := unicodeEscape(s[i+1:])
			if !ok {
				return "", false
			}
			b.WriteRune(r)
			i += size
		case '0', '1', '2', '3', '4', '5', '6', '7':
			n := i
			for n < len(s) && n < i+3 && '0' <= s[n] && s[n] <= '7' {
				n++
			}
			v, _ := strconv.ParseUint(s[i:n], 8, 16)
			if v > 0xff {
				n--
				v, _ = strconv.ParseUint(s[i:n], 8, 16)
			}
			b.WriteRune(rune(v))
			i = n - 1
		default:
			r, size := utf8.DecodeRuneInString(s[i:])
			if r != '\u2028' && r != '\u2029' { // a line continued
				b.WriteString(s[i : i+size])
			}
			i += size - 1
		}
	}
	return b.String(), true
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
