package plugin

import (
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/spelling"
)

// Lengths of a name of ours from which one that differs in one letter, or in two, is taken for it. Names of
// four and five letters have ordinary words one letter away ("dist" and "list", "entry" and "sentry"), and
// those of seven have some at two ("version" and "session"). What is shorter counts as misspelled in
// another case only: the members of such names must be there, so that without them nothing is accepted
// anyway.
const (
	oneLetterFrom  = 6
	twoLettersFrom = 8
)

// maxMisspelled is the longest name that is compared with ours, in bytes.
const maxMisspelled = 100

// ordinaryMembers are members of other formats that lie as near to one of ours as a misspelling does,
// and mean something else: lists where ours is one value, and the opposite.
var ordinaryMembers = []string{"authors", "descriptions", "homepages", "internalDependencies", "licenses", "versions"}

// findMisspelled returns which of names somebody meant who wrote name, which is none of them: one that
// differs in case, or in "-" and "_", or in a letter or two that were left out, put in, changed or
// exchanged. It is "" if name is a name of its own.
func findMisspelled(name string, names []string) string {
	if slices.Contains(ordinaryMembers, name) || len(name) > maxMisspelled {
		return ""
	}
	best, nearest := "", twoLettersFrom
	for _, meant := range names {
		if name == meant {
			return ""
		}
		// Readers that compare names without their case would take the one for the other.
		if strings.EqualFold(name, meant) {
			return meant
		}
		written, right := plainLetters(name), plainLetters(meant)
		allowed := 0
		switch n := len(right); {
		case n >= twoLettersFrom:
			allowed = 2
		case n >= oneLetterFrom:
			allowed = 1
		}
		if len(written) > len(right)+allowed || len(right) > len(written)+allowed {
			continue
		}
		if d := spelling.Distance(written, right); d <= allowed && d < nearest {
			best, nearest = meant, d
		}
	}
	return best
}

// plainLetters is a name in lower case, without what separates its words.
func plainLetters(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r == ' ' {
			return -1
		}
		return r
	}, strings.ToLower(strings.ToUpper(name))) // first to upper: letters such as the long s have a case of their own
}
