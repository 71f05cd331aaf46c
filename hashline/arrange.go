package hashline

import (
	"slices"
	"strconv"
)

// arrange sorts the steps by place and refuses those that meet.
func arrange(steps []step) *Error {
	slices.SortStableFunc(steps, func(a, b step) int { return a.place() - b.place() })
	for i := 1; i < len(steps); i++ {
		a, b := steps[i-1], steps[i]
		if !a.insert && b.place() <= 2*a.last {
			why := "both change line " + strconv.Itoa(max(b.first, a.first))
			if b.insert {
				why = "the second inserts into the lines " + strconv.Itoa(a.first) + " to " + strconv.Itoa(a.last) +
					" of the first"
			}
			return refuse(Overlap, "%s and %s overlap: %s", a.name(), b.name(), why).about(a.index, b.index)
		}
	}
	// Steps are disjoint now. An insertion beside a deleted line has lost its anchor.
	for i, s := range steps {
		if !s.insert {
			continue
		}
		before, after := i-1, i+1
		for before >= 0 && steps[before].insert && steps[before].gap == s.gap {
			before--
		}
		for after < len(steps) && steps[after].insert && steps[after].gap == s.gap {
			after++
		}
		for _, j := range []int{before, after} {
			if j >= 0 && j < len(steps) && steps[j].deletes(s.beside) {
				a, b := steps[min(i, j)], steps[max(i, j)]
				why := "one inserts beside line " + strconv.Itoa(s.beside) + " and the other deletes it; use replace"
				return refuse(Overlap, "%s and %s overlap: %s", a.name(), b.name(), why).about(a.index, b.index)
			}
		}
	}
	return nil
}
