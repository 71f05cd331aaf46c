package reference

import (
	"fmt"
	"strings"

	"github.com/hallmark-mcp/hallmark/hashline"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/refusal"
)

// maxCandidates is how many places of a text a refusal names.
const maxCandidates = 10

// apply makes an edit, which is that of the given number, from 1.
func (t *text) apply(e edit, number int) error {
	old, with := normalize(e.OldText), normalize(e.NewText)
	if old == "" {
		if t.s != "" {
			return refuseEdit(hashline.Invalid, number, "oldText is empty; give the text that newText takes the place "+
				"of, or a line beside the place, and repeat that line in newText")
		}
		t.replace(0, 0, with)
		return nil
	}
	at, err := t.only(t.s, old, number)
	if err != nil {
		return err
	}
	if at >= 0 {
		t.replace(at, at+len(old), with)
		return nil
	}
	return t.applyLines(old, with, number)
}

// only returns the offset of a text that occurs once in another; -1 if it does not occur. In is the file, or what has
// its lines.
func (t *text) only(in, want string, number int) (int, error) {
	at := strings.Index(in, want)
	if at < 0 {
		return -1, nil
	}
	var lines []int
	for i := at; i >= 0 && len(lines) <= maxCandidates; {
		lines = append(lines, strings.Count(in[:i], "\n")+1)
		next := strings.Index(in[i+1:], want)
		if next < 0 {
			break
		}
		i += 1 + next
	}
	if len(lines) == 1 {
		return at, nil
	}
	more := ""
	if len(lines) > maxCandidates {
		lines, more = lines[:maxCandidates], " and more"
	}
	problem := refuseEdit(hashline.AnchorAmbiguous, number, "oldText occurs several times, at lines %s%s; give more of "+
		"the lines around the one that is meant", listNumbers(lines), more)
	problem.Candidates = lines
	return 0, problem
}

// applyLines makes an edit whose text occurs only if white space at the ends of lines is passed over. A line feed at the
// end of the text ends its last line; it does not say that an empty one follows.
func (t *text) applyLines(old, with string, number int) error {
	old, ended := strings.CutSuffix(old, "\n")
	lines, wanted := strings.Split(t.s, "\n"), strings.Split(old, "\n")
	if trim(strings.Join(wanted, "")) == "" {
		return t.refuseMissing(lines, wanted, number)
	}
	// With a line feed before and after each line, whole lines are found as a text.
	trimmed := "\n" + joinTrimmed(lines) + "\n"
	at, err := t.only(trimmed, "\n"+joinTrimmed(wanted)+"\n", number)
	if err != nil {
		return err
	}
	if at < 0 {
		return t.refuseMissing(lines, wanted, number)
	}
	first := strings.Count(trimmed[:at], "\n")
	found := lines[first : first+len(wanted)]
	to := len(strings.Join(lines[:first+len(wanted)], "\n"))
	if ended {
		var kept bool
		if with, kept = strings.CutSuffix(with, "\n"); !kept {
			to = min(to+1, len(t.s))
		}
	}
	indented, ok := indentLike(found, wanted, strings.Split(with, "\n"))
	if !ok {
		return refuseEdit(hashline.AnchorNotFound, number, "oldText is at line %d, but with other indentation, so that "+
			"it is open how newText is to be indented; give both as they stand in the file", first+1)
	}
	from := len(strings.Join(lines[:first], "\n"))
	if first > 0 {
		from++
	}
	t.replace(from, to, strings.Join(indented, "\n"))
	return nil
}

// refuseMissing says that a text does not occur, and what is most like it.
func (t *text) refuseMissing(lines, wanted []string, number int) error {
	best, length := 0, 0
	for i := range lines {
		n := 0
		for n < len(wanted) && i+n < len(lines) && trim(lines[i+n]) == trim(wanted[n]) {
			n++
		}
		if n > length && trim(wanted[0]) != "" {
			best, length = i, n
		}
		if i > maxCompared {
			break
		}
	}
	near := "read the file, and give it as it stands there"
	if length > 0 {
		there := "the file ends there"
		if best+length < len(lines) {
			there = "there stands " + refusal.Show(lines[best+length])
		}
		near = fmt.Sprintf("it begins as line %d does, but for line %d, %s", best+1, best+length+1, there)
	}
	return refuseEdit(hashline.AnchorNotFound, number, "could not find exact match for oldText; %s", near)
}

// maxCompared is how many lines are searched for the one that is most like a text that is missing.
const maxCompared = 100_000

// refuseEdit refuses an edit, and with it the others of the call.
func refuseEdit(code hashline.Code, number int, format string, args ...any) *refusal.Refusal {
	problem := refusal.New(code, "edit %d: %s. Nothing was written", number, fmt.Sprintf(format, args...))
	problem.Operations = []int{number - 1}
	return problem
}

// listNumbers writes numbers as "1, 2, 3".
func listNumbers(numbers []int) string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(numbers), "[]"), " ", ", ")
}
