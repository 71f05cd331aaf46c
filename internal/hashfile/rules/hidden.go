package rules

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/hallmark-mcp/hallmark/internal/hashfile/refusal"
)

// Forms in which a key can stand that a line by itself does not show. They are looked for in the whole front matter,
// its line ends "\n": in brackets YAML lets a key and its colon stand in different lines.
var (
	// questionMark matches the sign of a key that may be of any form, over several lines.
	questionMark = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)(?:^|[\[{,])[ \t]*(?:[-?:][ \t]+)*\?(?:[ \t]|$)`)
	})
	// aliasKey matches a key that stands elsewhere.
	aliasKey = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)(?:^|[\[{,])[ \t]*(?:[-?:][ \t]+)*\*[^\s*,\[\]{}]+\s*:(?:\s|$)`)
	})
	// escapedKey matches a quoted key with an escape.
	escapedKey = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`"(?:[^"\\]|\\[\s\S])*\\[\s\S](?:[^"\\]|\\[\s\S])*"\s*(?:#[^\n]*\n\s*)*:`)
	})
	// codedTag matches a tag of text in base64, or one that may be that in another spelling.
	codedTag = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`!(?:!|<)\S*(?:binary|%)`)
	})
	// colonLine matches the beginning of a line with a colon.
	colonLine = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\n\s*:`)
	})
	// partedKey matches a key, its group 1, and a colon in another line.
	partedKey = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)(?:^|[\[{,])` + beforeKey + keyText + `[ \t]*(?:#[^\n]*)?\n(?:\s|#[^\n]*\n)*:`)
	})
)

// lineEnds turns what YAML takes for the end of a line into one.
var lineEnds = strings.NewReplacer("\u0085", "\n", "\u2028", "\n", "\u2029", "\n")

// findHiddenKey fails if the lines of front matter have a key that could be one of the three names, in a form that only
// a YAML parser resolves. Number is its line, from 1.
func findHiddenKey(lines []string) (number int, err error) {
	lines = slices.Clone(lines)
	for i, line := range lines {
		lines[i] = lineEnds.Replace(line)
	}
	text := strings.Join(lines, "\n")
	for _, form := range []struct {
		sign string // that is in all of the form, and is found sooner
		of   func() *regexp.Regexp
		err  error
	}{
		{"?", questionMark, errors.New("it has a key after a question mark, which is not supported")},
		{"*", aliasKey, errors.New("it has an alias as a key, which is not supported")},
		{`\`, escapedKey, errors.New("it has a key with a backslash, which is not supported")},
		{"!", codedTag, errors.New("it has coded text, which is not supported")},
	} {
		if !strings.Contains(text, form.sign) {
			continue
		}
		if at := form.of().FindStringIndex(text); at != nil {
			return lineOf(lines, at[1]), form.err
		}
	}
	if !colonLine().MatchString(text) {
		return 0, nil
	}
	for _, at := range partedKey().FindAllStringSubmatchIndex(text, -1) {
		if key := text[at[2]:at[3]]; resembles(key) {
			return lineOf(lines, at[3]), fmt.Errorf("%s stands in another line than its colon; %s",
				refusal.Show(key), errSpelling)
		}
	}
	return 0, nil
}

// lineOf returns the line, from 1, in which the byte before an offset of the joined lines lies.
func lineOf(lines []string, offset int) int {
	end := 0
	for i, line := range lines {
		if end += len(line) + 1; offset <= end {
			return i + 1
		}
	}
	return len(lines)
}
