package spelling

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// expansions are the characters that full case folding turns into several, and that canonical decomposition leaves
// whole.
var expansions = strings.NewReplacer(
	"\u00df", "ss", "\u1e9e", "ss", "\u0149", "\u02bcn", "\u0587", "\u0565\u0582", "\u1e9a", "a\u02be",
	"\ufb00", "ff", "\ufb01", "fi", "\ufb02", "fl", "\ufb03", "ffi", "\ufb04", "ffl", "\ufb05", "st", "\ufb06", "st",
	"\ufb13", "\u0574\u0576", "\ufb14", "\u0574\u0565", "\ufb15", "\u0574\u056b", "\ufb16", "\u057e\u0576",
	"\ufb17", "\u0574\u056d",
)

// Fold returns the same text for all spellings of path that are equal under full case folding, under the upper or lower
// case of single characters, which file systems compare, and under canonical composition. The dotless i and the dotted
// I become i.
func Fold(path string) string {
	if IsASCII(path) {
		return strings.ToLower(path)
	}
	path = norm.NFD.String(strings.Map(foldRune, norm.NFC.String(path)))
	path = strings.ReplaceAll(expansions.Replace(strings.Map(foldRune, path)), "i\u0307", "i")
	// What full folding gave is folded once more: it leaves some in upper case.
	return norm.NFC.String(strings.Map(foldRune, path))
}

// foldRune returns the first character, in the order of code points, of all that differ from r by case only.
func foldRune(r rune) rune {
	r = unicode.ToLower(unicode.ToUpper(r))
	first := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		first = min(first, next)
	}
	return unicode.ToLower(first)
}

// skeleton returns a name as a careless reader or file system sees it: folded, in its compatibility form, without
// invisible characters and without marks.
func skeleton(name string) string {
	if IsASCII(name) {
		return strings.ToLower(name)
	}
	drop := func(r rune) rune {
		if IsInvisible(r) || unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}
	return Fold(strings.Map(drop, norm.NFKD.String(Fold(strings.Map(drop, name)))))
}

// IsInvisible reports whether r is invisible, looks like a space without being one, or changes the direction or the
// look of its neighbours.
func IsInvisible(r rune) bool {
	switch {
	case r <= unicode.MaxLatin1:
		return r == 0xa0 || r == 0xad
	case r == 0x2800: // a pattern of Braille without a dot
		return true
	}
	return unicode.In(r, unicode.Cf, unicode.Zs, unicode.Zl, unicode.Zp, unicode.Noncharacter_Code_Point,
		unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector, unicode.Bidi_Control)
}

// IsASCII reports whether s has no character beyond ASCII.
func IsASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
