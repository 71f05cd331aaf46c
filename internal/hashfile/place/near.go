package place

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/spelling"
)

// Bounds of a search for names that are like another one.
const (
	maxNear     = 3  // names that are given
	maxNearName = 80 // bytes of a name that is compared
)

// lineSuffix matches a name with the line numbers that compilers and models write after it.
var lineSuffix = spelling.Form(`^[^:#]+(?::[0-9]+(?:[:-][0-9]+)?|#L[0-9]+(?:-L?[0-9]+)?)$`)

// nearNames returns those of names that a caller may have meant by name, the nearest first: those that differ from it
// in about a letter of three at most, or that hold it without its extension.
func nearNames(name string, names []string) []string {
	type near struct {
		name string
		away int
	}
	wanted := strings.ToLower(bareName(name))
	if wanted == "" || len(wanted) > maxNearName {
		return nil
	}
	stem := strings.TrimSuffix(wanted, extension(wanted))
	var found []near
	for _, other := range names {
		lower := strings.ToLower(other)
		most := (len(wanted) + 2) / 3
		away := distance(wanted, lower, most)
		if away > most && len(stem) >= 4 && strings.Contains(lower, stem) {
			away = most
		}
		if away <= most {
			found = append(found, near{other, away})
		}
	}
	slices.SortFunc(found, func(a, b near) int {
		return cmp.Or(cmp.Compare(a.away, b.away), strings.Compare(a.name, b.name))
	})
	var all []string
	for _, n := range found[:min(len(found), maxNear)] {
		all = append(all, n.name)
	}
	return all
}

// bareName returns a name without what is no part of names, but is written around them: marks, and line numbers.
func bareName(name string) string {
	name = strings.Trim(name, "@'\"`<> \t\r\n")
	if lineSuffix().MatchString(name) {
		name = name[:strings.IndexAny(name, ":#")]
	}
	return name
}

func extension(name string) string {
	if i := strings.LastIndexByte(name, '.'); i > 0 {
		return name[i:]
	}
	return ""
}

// distance returns how many bytes must be put in, left out or replaced to make b of a, or most+1 if it is more than
// most or b is too long to be compared.
func distance(a, b string, most int) int {
	if len(b) > maxNearName || max(len(a)-len(b), len(b)-len(a)) > most {
		return most + 1
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, diagonal+1)
		}
	}
	return min(row[len(b)], most+1)
}
