package archive

import (
	"bytes"
)

// isZero reports whether p holds no byte but zeros.
func isZero(p []byte) bool { return len(bytes.TrimLeft(p, "\x00")) == 0 }

// checksum is the sum of a header's bytes, its own field counted as spaces.
func checksum(h []byte) int64 {
	sum := int64(8 * ' ')
	for i, c := range h {
		if i < 148 || i >= 156 {
			sum += int64(c)
		}
	}
	return sum
}

// tarNumber reads a number in the one form that all programs read: octal digits, with
// spaces before them, and NULs or spaces after.
func tarNumber(b []byte) (n int64, ok bool) {
	b = bytes.TrimLeft(b, " ")
	end := 0
	for end < len(b) && '0' <= b[end] && b[end] <= '7' {
		n = n<<3 | int64(b[end]-'0') // at most 12 digits
		end++
	}
	return n, end > 0 && len(bytes.Trim(b[end:], " \x00")) == 0
}

// endsNumber reports whether every program stops reading an octal number at c.
func endsNumber(c byte) bool { return c == 0 || c == ' ' }

// textField is the text of a field up to the first NUL; ok if nothing follows it.
func textField(b []byte) (text string, ok bool) {
	before, after, _ := bytes.Cut(b, []byte{0})
	return string(before), isZero(after)
}

// isHarmlessNumber reports whether b, a number that is not used, stops no program: it is octal,
// empty, or a positive number of 48 bits in base 256.
func isHarmlessNumber(b []byte) bool {
	if b[0] == 0x80 {
		return isZero(b[1 : len(b)-6])
	}
	if len(bytes.Trim(b, " \x00")) == 0 {
		return true
	}
	_, ok := tarNumber(b)
	return ok
}
