package main

import (
	"fmt"
	"slices"
	"strings"
)

// editTable prints what became of the tasks: a row for each kind, a column for each server.
func editTable(tasks []task, counts map[string]map[string]*outcomes) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d tasks on files of Go's and of our own source, the same for all. Of each kind: right at once / "+
		"right at the second try, by what the refusal says alone / right after reading again / rightly refused, "+
		"because what was meant is gone / refused to the end / **wrong**: the file became something else than was "+
		"meant. A reference server is not told line numbers or hashes, so that it is spared those mistakes.\n\n",
		len(tasks))
	servers := []string{oursName, exactName, rustName, referenceName}
	b.WriteString("| mistake | tasks |")
	for _, s := range servers {
		name := s
		if counts[s] == nil && s != exactName {
			name += " (not installed)"
		}
		fmt.Fprintf(&b, " %s |", name)
	}
	b.WriteString("\n|---|---|---|---|---|---|\n")
	parts := []struct {
		title string
		has   func(kind string) bool
	}{
		{"", func(kind string) bool { return !unknowable(kind) && !relocates(kind) }},
		{"a tag that one other line has: source 004 takes it for that line moved, and the answer says so", relocates},
		{"no server can know: all that is sent agrees with the file", unknowable},
	}
	for _, p := range parts {
		if p.title != "" {
			fmt.Fprintf(&b, "| *%s* | | | | | |\n", p.title)
		}
		total := map[string]*outcomes{}
		for _, kind := range kindsOf(tasks, p.has) {
			b.WriteString(editRow(kind, kind, tasks, servers, counts))
			for _, s := range servers {
				total[s] = total[s].plus(counts[s][kind])
			}
		}
		fmt.Fprintf(&b, "| **together** | %d |", total[oursName].sum())
		for _, s := range servers {
			fmt.Fprintf(&b, " %s |", total[s])
		}
		b.WriteString("\n")
	}
	return b.String()
}

func editRow(title, kind string, tasks []task, servers []string, counts map[string]map[string]*outcomes) string {
	n := 0
	for _, t := range tasks {
		if t.kind == kind {
			n++
		}
	}
	row := fmt.Sprintf("| %s | %d |", title, n)
	for _, s := range servers {
		row += fmt.Sprintf(" %s |", counts[s][kind])
	}
	return row + "\n"
}

// kindsOf returns the kinds that occur in tasks, in the order of editKinds.
func kindsOf(tasks []task, has func(string) bool) (kinds []string) {
	for _, k := range editKinds {
		for _, suffix := range []string{"", agreesSuffix, movesSuffix} {
			kind := k.name + suffix
			if has(kind) && slices.ContainsFunc(tasks, func(t task) bool { return t.kind == kind }) {
				kinds = append(kinds, kind)
			}
		}
	}
	return kinds
}

// String is a cell of the table.
func (o *outcomes) String() string {
	if o == nil || o.sum() == 0 {
		return "–"
	}
	var figures []string
	for i, n := range o.of {
		figure := fmt.Sprint(n)
		if outcome(i) == wrongEdit && n > 0 {
			figure = fmt.Sprintf("**%d**", n)
			if o.reported > 0 {
				figure += fmt.Sprintf(" (%d told)", o.reported)
			}
		}
		figures = append(figures, figure)
	}
	return strings.Join(figures, " / ")
}

func (o *outcomes) sum() (n int) {
	if o == nil {
		return 0
	}
	for _, k := range o.of {
		n += k
	}
	return n
}

// plus adds the counts of another kind; either may be nil.
func (o *outcomes) plus(other *outcomes) *outcomes {
	sum := &outcomes{}
	for _, x := range []*outcomes{o, other} {
		if x == nil {
			continue
		}
		for i, n := range x.of {
			sum.of[i] += n
		}
		sum.reported += x.reported
	}
	return sum
}
