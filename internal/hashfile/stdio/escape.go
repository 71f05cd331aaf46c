package stdio

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"unicode/utf8"
)

// maxEscape is the greatest number of bytes that stand for one byte.
const maxEscape = len(`\u0000`)

// escapedAtOnce is the size of the pieces for which room is made, in bytes of text.
const escapedAtOnce = 16 << 10

// escapes holds, for each byte that is escaped, the text that stands for it and the length of that text.
var escapes = func() (e [utf8.RuneSelf]struct {
	text [8]byte
	n    int
}) {
	set := func(c byte, text string) { e[c].n = copy(e[c].text[:], text) }
	for c := range byte(' ') {
		set(c, fmt.Sprintf(`\u%04x`, c))
	}
	set(0x7f, `\u007f`)
	set('\n', `\n`)
	set('\t', `\t`)
	set('\r', `\r`)
	set('"', `\"`)
	set('\\', `\\`)
	return e
}()

// ones is eight bytes of 1, and highs the highest bit of eight bytes.
const (
	ones  = 0x0101010101010101
	highs = 0x80 * ones
)

// escape writes text as the inside of a JSON string to dst, which has to have room for maxEscape times its size and
// eight bytes, and returns how many bytes it wrote.
//
// Eight bytes x are compared together. Those below n are the bytes of which x-n*ones has the highest bit set and x has
// not, up to the first such byte. A byte equals another if it is below 1 after exclusive or with that.
func escape(dst, text []byte) int {
	n := 0
	for len(text) >= 8 {
		x := binary.LittleEndian.Uint64(text)
		binary.LittleEndian.PutUint64(dst[n:], x)
		quote, slash, del := x^'"'*ones, x^'\\'*ones, x^0x7f*ones
		found := ((x-' '*ones)&^x | (quote-ones)&^quote | (slash-ones)&^slash | (del-ones)&^del) & highs
		if found == 0 {
			n += 8
			text = text[8:]
			continue
		}
		i := bits.TrailingZeros64(found) / 8
		e := &escapes[text[i]&0x7f]
		copy(dst[n+i:n+i+8], e.text[:])
		n += i + e.n
		text = text[i+1:]
	}
	for _, c := range text {
		if c < utf8.RuneSelf && escapes[c].n > 0 {
			n += copy(dst[n:], escapes[c].text[:escapes[c].n])
		} else {
			dst[n] = c
			n++
		}
	}
	return n
}
