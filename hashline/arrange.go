package hashline

import (
	"cmp"
	"slices"
	"strconv"
)

// arrange sorts the steps by place and refuses those that meet.
func arrange(steps []step) *Error {
	slices.SortFunc(steps, func(a, b step) int { return cmp.Or(a.place()-b.place(), a.index-b.index) })
	for i := 1; i < len(steps); i++ {
		a, b := steps[i-1], steps[i]
		if !a.insert && b.place() <= 2*a.last {
			why := "both change line " + strconv.Itoa(max(b.first, a.first)) + "; make one of them"
			if b.insert {
				why = "the second inserts into the lines " + strconv.Itoa(a.first) + " to " + strconv.Itoa(a.last) +
					" of the first; put its content into that of the first"
			}
			return refuse(Overlap, "%s and %s overlap: %s", a.name(), b.name(), why).about(a.index, b.index)
		}
	}
	// Steps are disjoint now. An insertion beside a deleted line has lost its anchor.
	for i := 0; i < len(steps); {
		end := i + 1 // of the insertions at one place
		for steps[i].insert && end < len(steps) && steps[end].insert && steps[end].gap == steps[i].gap {
			end++
		}
		for n := i; n < end && steps[i].insert; n++ {
			if err := checkBeside(steps, n, i-1, end); err != nil {
				return err
			}
		}
		i = end
	}
	return nil
}

// checkBeside refuses an insertion if one of the steps around its place deletes the line that
// anchors it.
func checkBeside(steps []step, insertion int, around ...int) *Error {
	line := steps[insertion].beside
	for _, j := range around {
		if j >= 0 && j < len(steps) && steps[j].deletes(line) {
			a, b := steps[min(insertion, j)], steps[max(insertion, j)]
			why := "one inserts beside line " + strconv.Itoa(line) + " and the other deletes it; use replace for both"
			return refuse(Overlap, "%s and %s overlap: %s", a.name(), b.name(), why).about(a.index, b.index)
		}
	}
	return nil
}
