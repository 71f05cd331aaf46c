package project

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/spelling"
	"github.com/hallmark-mcp/hallmark/surface"
)

// maxThere is how many names an error shows in place of one that nothing has.
const maxThere = 8

// maxTyped is how many bytes of names are compared.
const maxTyped = 64

// NoSuch is the error for a name that nothing has, with a hint. what is the kind of thing that
// was wanted ("server", "facet" or "server or facet"), where is the place that was searched,
// and there are the names that exist there.
func NoSuch(what, where, name string, there []string) error {
	var hints []string
	if strings.HasPrefix(where, ConfigFile) && strings.HasPrefix(what, "server") {
		hints = append(hints,
			"declare it there; or take it from a client's file with 'hallmark pin --client CLIENT NAME'")
	}
	if strings.HasPrefix(where, ConfigFile) && strings.HasSuffix(what, "facet") {
		hints = append(hints, "'hallmark add' declares a facet")
	}
	there = slices.Clone(there)
	slices.Sort(there)
	meant := ""
	if there = slices.Compact(there); len(there) > 0 {
		meant = nearest(name, there)
		more := ""
		if n := len(there) - maxThere; n > 0 {
			there, more = there[:maxThere], fmt.Sprintf(" and %d more", n)
		}
		names := surface.Escape(strings.Join(there, ", "))
		hints = append(hints, fmt.Sprintf("there is %s%s, see 'hallmark check'", names, more))
	} else if len(hints) == 0 {
		hints = append(hints, "there is none, see 'hallmark check'")
	}
	return evidence.Errorf(evidence.Validation, fmt.Sprintf("%+q", name), meant+strings.Join(hints, "; "),
		fmt.Errorf("no such %s in %s", what, where))
}

// nearest asks whether that of names was meant that begins with name, or differs from it in the fewest letters; "" if
// none is like it.
func nearest(name string, names []string) string {
	typed := strings.ToLower(name[:min(len(name), maxTyped)])
	distance := func(other string) int {
		if other = strings.ToLower(other[:min(len(other), maxTyped)]); typed != "" && strings.HasPrefix(other, typed) {
			return 0
		}
		return spelling.Distance(typed, other)
	}
	near := slices.MinFunc(names, func(a, b string) int { return cmp.Compare(distance(a), distance(b)) })
	if distance(near) > (len(typed)+1)/4 {
		return ""
	}
	return "did you mean " + surface.Escape(near) + "? "
}
