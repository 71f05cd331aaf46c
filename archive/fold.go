package archive

import (
	"strings"
	"unicode"

	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// caseFolder gives the same spelling to all paths that some file system takes for one.
type caseFolder struct{ full cases.Caser }

// newCaseFolder makes one; it is not safe for concurrent use.
func newCaseFolder() *caseFolder { return &caseFolder{cases.Fold()} }

// fold returns the same text for all spellings of path that are equal under full case
// folding, under the upper or lower case of single characters, which file systems compare,
// and under canonical composition. The dotless i and the dotted I become i.
func (f *caseFolder) fold(path string) string {
	if ascii(path) {
		return strings.ToLower(path)
	}
	path = strings.Map(foldRune, norm.NFC.String(path))
	path = f.full.String(norm.NFD.String(path))
	path = strings.ReplaceAll(path, "i\u0307", "i")
	// What full folding gave is folded once more: it leaves some in upper case.
	return norm.NFC.String(strings.Map(foldRune, path))
}

// foldRune returns the first character, in the order of code points, of all that differ
// from r by case only.
func foldRune(r rune) rune {
	r = unicode.ToLower(unicode.ToUpper(r))
	first := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		first = min(first, next)
	}
	return unicode.ToLower(first)
}

// skeleton returns path as a careless reader or file system sees it: folded, in its
// compatibility form, without invisible characters and without marks.
func (f *caseFolder) skeleton(path string) string {
	if ascii(path) {
		return strings.ToLower(path)
	}
	drop := func(r rune) rune {
		if isInvisible(r) || unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}
	return f.fold(strings.Map(drop, norm.NFKD.String(f.fold(strings.Map(drop, path)))))
}

// isInvisible reports whether r is invisible, looks like a space without being one, or
// changes the direction or the look of its neighbours.
func isInvisible(r rune) bool {
	switch {
	case r <= unicode.MaxLatin1:
		return r == 0xa0 || r == 0xad
	case r == 0x2800: // a pattern of Braille without a dot
		return true
	}
	return unicode.In(r, unicode.Cf, unicode.Zs, unicode.Zl, unicode.Zp, unicode.Noncharacter_Code_Point,
		unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector, unicode.Bidi_Control)
}

// ascii reports whether s has no character beyond ASCII.
func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
