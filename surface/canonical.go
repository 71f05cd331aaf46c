package surface

import "unicode/utf8"

// append writes v as RFC 8785 has it: members in the order of their names'
// UTF-16 code units, no white space, the shortest escapes, ECMAScript numbers.
// Package jcs supplies the numbers only: its Transform would parse the text
// again, and no text with a large integer passes through it unchanged.
func (v *value) append(b []byte) []byte {
	switch v.kind {
	case isNull:
		return append(b, "null"...)
	case isFalse:
		return append(b, "false"...)
	case isTrue:
		return append(b, "true"...)
	case isNumber:
		return append(b, v.text...)
	case isBig:
		b = append(b, `{"`+bigMember+`":"`...)
		b = append(b, v.text...)
		return append(b, `"}`...)
	case isString:
		return appendString(b, v.text)
	case isArray:
		b = append(b, '[')
		for i := range v.list {
			if i > 0 {
				b = append(b, ',')
			}
			b = v.list[i].append(b)
		}
		return append(b, ']')
	}
	b = append(b, '{')
	for i := range v.members {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, v.members[i].name)
		b = append(b, ':')
		b = v.members[i].value.append(b)
	}
	return append(b, '}')
}

// canonical is v in canonical form.
func (v *value) canonical() []byte { return v.append(make([]byte, 0, v.size())) }

// size is how many bytes the canonical form has, at least: all but escapes are counted.
func (v *value) size() int {
	n := len(v.text)
	switch v.kind {
	case isNull, isTrue:
		return len("null")
	case isFalse:
		return len("false")
	case isNumber:
		return n
	case isBig:
		return n + len(`{"`+bigMember+`":""}`)
	case isString:
		return n + len(`""`)
	case isArray:
		for i := range v.list {
			n += v.list[i].size() + len(",")
		}
		return max(n+1, len("[]"))
	}
	for i := range v.members {
		n += len(v.members[i].name) + len(`"":,`) + v.members[i].value.size()
	}
	return max(n+1, len("{}"))
}

// shortEscapes are the second bytes of the two-byte escapes that RFC 8785 uses.
var shortEscapes = [128]byte{'"': '"', '\\': '\\', '\b': 'b', '\t': 't', '\n': 'n', '\f': 'f', '\r': 'r'}

const lowerHex = "0123456789abcdef"

// appendString writes valid UTF-8 as a JSON string.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	start := 0
	for i := range len(s) {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		b = append(b, s[start:i]...)
		start = i + 1
		if e := shortEscapes[c]; e != 0 {
			b = append(b, '\\', e)
		} else {
			b = append(b, '\\', 'u', '0', '0', lowerHex[c>>4], lowerHex[c&15])
		}
	}
	b = append(b, s[start:]...)
	return append(b, '"')
}

// compareUTF16 orders valid UTF-8 strings by their UTF-16 code units. That is the order of
// bytes, but for U+E000..U+FFFF, which come after the code points that take a surrogate pair.
// It repeats tree.CompareUTF16, because packages of one floor do not import each other.
func compareUTF16(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		x, y := a[i], b[i]
		if x == y {
			continue
		}
		if x >= 0xee && y >= 0xee && (x >= 0xf0) != (y >= 0xf0) {
			x, y = y, x
		}
		if x < y {
			return -1
		}
		return 1
	}
	return len(a) - len(b)
}

// indent writes v for people: one member or element a line, two spaces a level,
// and the code points that Escape would make visible as \u escapes. It gives up
// and returns nil beyond limit bytes.
func (v *value) indent(b []byte, level, limit int) []byte {
	var open, shut byte
	n := 0
	switch v.kind {
	case isArray:
		open, shut, n = '[', ']', len(v.list)
	case isObject:
		open, shut, n = '{', '}', len(v.members)
	case isString:
		return appendVisible(b, v.text)
	}
	if n == 0 {
		return v.append(b)
	}
	b = append(b, open)
	for i := range n {
		if i > 0 {
			b = append(b, ',')
		}
		b = newline(b, level+1)
		x := &value{}
		if v.kind == isArray {
			x = &v.list[i]
		} else {
			b = append(appendVisible(b, v.members[i].name), ": "...)
			x = &v.members[i].value
		}
		if b = x.indent(b, level+1, limit); b == nil || len(b) > limit {
			return nil
		}
	}
	return append(newline(b, level), shut)
}

func newline(b []byte, level int) []byte {
	b = append(b, '\n')
	for range level {
		b = append(b, ' ', ' ')
	}
	return b
}

// appendVisible writes a JSON string in which nothing is hidden from a reader.
func appendVisible(b []byte, s string) []byte {
	start := len(b)
	b = appendString(b, s)
	if asciiOnly(s) {
		return b
	}
	quoted := string(b[start:])
	b = b[:start]
	for i, size := 0, 0; i < len(quoted); i += size {
		var r rune
		r, size = utf8.DecodeRuneInString(quoted[i:])
		switch {
		case classify(r) == "":
			b = append(b, quoted[i:i+size]...)
		case r > 0xffff:
			r -= 0x10000
			b = appendHex4(appendHex4(b, 0xd800+r>>10), 0xdc00+r&0x3ff)
		default:
			b = appendHex4(b, r)
		}
	}
	return b
}

func appendHex4(b []byte, r rune) []byte {
	return append(b, '\\', 'u', lowerHex[r>>12&15], lowerHex[r>>8&15], lowerHex[r>>4&15], lowerHex[r&15])
}

// asciiOnly reports whether s has no byte from 0x7f up; the controls below are
// escaped in any JSON string.
func asciiOnly(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x7f {
			return false
		}
	}
	return true
}
