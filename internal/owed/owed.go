// Package owed says which claims must exist, before any evidence is gathered: those that the
// project, the lock, this machine or the caller was told to expect. A flow that judges only the
// evidence that it finds cannot notice that a claim was removed.
//
// An [Expectation] names a claim by its subject, scheme and authority, and who was told to
// expect it:
//
//	owed by   what                                            as soon as
//	project   a lock entry for each server and facet          hallmark.toml declares it
//	project   a log proof for each entry of its registry      log_key is set
//	lock      a declaration for each entry                    the entry exists
//	lock      an entry for each facet that another composes   the composing entry exists
//	lock      the surface, and the closure of a package       the entry exists
//	lock      a log proof for each entry of a registry        the lock names the registry's log
//	machine   a lock entry                                    it approved or installed one in this project
//	machine   all that it accepted in a project               hallmark.toml is gone
//	machine   a log proof for each entry of a registry        it has accepted the key of the registry's log
//	machine   a log proof for a facet, wherever it is from    it accepted one for the facet
//	log       a log proof for an entry                        its registry is asked about it, and shows a log
//	caller    a lock entry, a log proof                       an option demands it
//
// [List.Settle] compares the list with the evidence: an expectation that no evidence answers
// becomes evidence with the outcome missing, which policy refuses in every flow. An explicit
// opt-out in hallmark.toml, which a reviewer sees, answers what the project owes, and never
// what this machine remembers or the caller demands.
package owed

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hallmark-mcp/hallmark/evidence"
)

// Expectation is a claim that must exist, because the project, the lock, this machine or the caller
// expects it.
type Expectation struct {
	evidence.Claim                    // its subject, scheme, authority, and where it would stand
	By             evidence.Authority // who was told to expect it
	Why            string             // since when, or by what
	Fix            string             // how to restore it, or how to end the expectation
}

// List is what is owed.
type List []Expectation

// Settle adds evidence with the outcome missing to report, for each claim of l that nothing in
// report answers; it names all who expect the claim. It replaces the evidence of an expected claim
// that is absent.
func (l List) Settle(report evidence.Report) evidence.Report {
	out := slices.Clone(report)
	for i, x := range l {
		named := func(o Expectation) bool { return o.sameClaim(x) && !o.isAnswered(report) }
		if x.isAnswered(report) || slices.ContainsFunc(l[:i], named) {
			continue
		}
		out = slices.DeleteFunc(out, func(e evidence.Evidence) bool {
			return e.Outcome == evidence.Absent && x.isAbout(e)
		})
		miss := evidence.Miss(x.Claim, x.By, x.Why, x.Fix)
		for _, o := range l[i+1:] {
			if !o.sameClaim(x) || o.isAnswered(report) {
				continue
			}
			miss.Owed, miss.Reason = append(miss.Owed, o.By), miss.Reason+"; "+o.Why
			if o.By == evidence.Machine {
				miss.Fix = o.Fix // which says how the machine forgets it
			}
		}
		out = append(out, miss)
	}
	return out
}

// sameClaim reports whether x and o expect the same claim, regardless of who expects it.
func (x Expectation) sameClaim(o Expectation) bool {
	return x.Subject == o.Subject && x.Scheme == o.Scheme && x.Authority == o.Authority
}

// isAnswered reports whether the report has evidence that the claim exists.
func (x Expectation) isAnswered(report evidence.Report) bool {
	return slices.ContainsFunc(report, x.answeredBy)
}

// isAbout reports whether e is evidence of the claim, with any outcome.
func (x Expectation) isAbout(e evidence.Evidence) bool {
	return e.Subject == x.Subject && e.Scheme == x.Scheme && e.Authority == x.Authority
}

// answeredBy reports whether e is a result about the claim itself. Policy decides whether the claim
// must match.
func (x Expectation) answeredBy(e evidence.Evidence) bool {
	switch {
	case !x.isAbout(e):
		return false
	case e.Outcome == evidence.Absent || e.Outcome == evidence.Missing:
		return false
	case e.Outcome == evidence.Waived:
		return x.By == evidence.Project || x.By == evidence.Lock
	}
	return true
}

// Of returns the expectations of l with one of the schemes.
func (l List) Of(schemes ...evidence.Scheme) List {
	var out List
	for _, x := range l {
		if slices.Contains(schemes, x.Scheme) {
			out = append(out, x)
		}
	}
	return out
}

// formatTime formats a time for messages.
func formatTime(at time.Time) string { return at.UTC().Format(time.DateTime) + "Z" }

// restoreHint returns the hint how to restore a claim that is gone.
func restoreHint(what, command, forget string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "restore %s from version control; or run '%s' and review what it shows", what, command)
	if forget != "" {
		fmt.Fprintf(&b, "; or give it up with '%s'", forget)
	}
	return b.String()
}
