package surface

import (
	"unicode"
	"unicode/utf8"
)

// The classes of code points that [Escape] makes visible.
const (
	ClassControl   = "control"            // C0, C1 and DEL
	ClassBidi      = "bidi control"       // changes the order of what is displayed
	ClassZeroWidth = "zero width"         // spaces and joiners without width, BOM, invisible operators, fillers
	ClassTag       = "tag character"      // U+E0000..U+E007F: ASCII that is not displayed
	ClassVariation = "variation selector" // U+FE00..U+FE0F, U+E0100..U+E01EF and the Mongolian ones
	ClassSoft      = "soft hyphen"        // U+00AD
	ClassSeparator = "line separator"     // U+2028 and U+2029
	ClassFormat    = "format"             // the rest of category Cf, and code points reserved for such use
	ClassPrivate   = "private use"        // category Co
	ClassInvalid   = "not a character"    // noncharacters, and bytes that are not UTF-8
	ClassSpace     = "unusual space"      // spaces other than U+0020 and U+3000; [FindHidden] leaves them out
)

// HiddenRune is one code point that a reader of the text would not see.
type HiddenRune struct {
	Offset int    `json:"offset"` // in code points from the beginning, a bad byte counting as one
	Rune   rune   `json:"rune"`   // U+FFFD for a byte that is not UTF-8
	Class  string `json:"class"`  // one of the Class constants
}

// MaxHidden is how many code points of one text are listed.
const MaxHidden = 100

// FindHidden lists what in s a reader would not see or would be misled by, in order
// of appearance, the first [MaxHidden]: all that [Escape] escapes, save tab, line
// feed, carriage return and unusual spaces.
func FindHidden(s string) []HiddenRune {
	var found []HiddenRune
	eachHidden(s, func(h HiddenRune, _ rune, _ string) bool {
		found = append(found, h)
		return len(found) < MaxHidden
	})
	return found
}

// eachHidden calls use with what is hidden in s, the code point before it, -1 at the
// beginning, and what follows it, until use returns false.
func eachHidden(s string, use func(h HiddenRune, before rune, rest string) bool) {
	n, before := 0, rune(-1)
	for i, size := 0, 0; i < len(s); i += size {
		var r rune
		r, size = utf8.DecodeRuneInString(s[i:])
		class := classify(r)
		switch {
		case r == utf8.RuneError && size == 1:
			class = ClassInvalid
		case r == '\t', r == '\n', r == '\r', class == ClassSpace:
			class = ""
		}
		if class != "" && !use(HiddenRune{n, r, class}, before, s[i+size:]) {
			return
		}
		n++
		before = r
	}
}

// classify is the class of a code point that Escape replaces, or "" for one that it
// keeps.
func classify(r rune) string {
	switch {
	case r < 0x20 || 0x7f <= r && r < 0xa0:
		return ClassControl
	case r < 0xa0:
		return ""
	case r == 0xad:
		return ClassSoft
	case r == 0x61c, r == 0x200e, r == 0x200f, 0x202a <= r && r <= 0x202e, 0x2066 <= r && r <= 0x2069:
		return ClassBidi
	case 0x200b <= r && r <= 0x200d, r == 0xfeff, 0x2060 <= r && r <= 0x2064,
		r == 0x34f, r == 0x115f, r == 0x1160, r == 0x17b4, r == 0x17b5, r == 0x3164, r == 0xffa0:
		return ClassZeroWidth
	case r&0xfffe == 0xfffe, 0xfdd0 <= r && r <= 0xfdef:
		return ClassInvalid
	case 0xe0000 <= r && r <= 0xe007f:
		return ClassTag
	case 0xfe00 <= r && r <= 0xfe0f, 0xe0100 <= r && r <= 0xe01ef, 0x180b <= r && r <= 0x180d, r == 0x180f:
		return ClassVariation
	case r == 0x2028, r == 0x2029:
		return ClassSeparator
	case unicode.Is(unicode.Cf, r), 0xe0080 <= r && r <= 0xe0fff, 0xfff0 <= r && r <= 0xfff8, r == 0x2065:
		return ClassFormat
	case unicode.Is(unicode.Co, r):
		return ClassPrivate
	case r != 0x3000 && unicode.Is(unicode.Zs, r):
		return ClassSpace
	}
	return ""
}
