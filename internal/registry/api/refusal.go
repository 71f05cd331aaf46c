package api

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/policy"
)

// isHashFailure reports whether f is a claim about bytes that did not hold.
func isHashFailure(f policy.Finding) bool {
	e := f.Evidence
	return f.Class != evidence.OK && e.Scheme != evidence.Ownership && e.Scheme != evidence.Document &&
		(e.Outcome == evidence.Mismatch || e.Outcome == evidence.Unverifiable)
}

// failures lists the hash failures of a verdict by identifier. Of several about one
// identifier a mismatch is kept before what could not be computed, and what the
// publisher claims before what the package's registry does.
func failures(v policy.Verdict) map[string]registry.HashFailure {
	kept := map[string]evidence.Evidence{}
	for _, f := range v.Findings {
		if !isHashFailure(f) {
			continue
		}
		if old, ok := kept[f.Evidence.Subject]; !ok || graver(f.Evidence, old) {
			kept[f.Evidence.Subject] = f.Evidence
		}
	}
	out := make(map[string]registry.HashFailure, len(kept))
	for id, e := range kept {
		h := registry.HashFailure{Expected: e.FormatExpected(), Status: hashStatus(e)}
		if e.Outcome == evidence.Mismatch {
			h.Actual = e.Actual()
		} else {
			h.Reason = e.Reason
		}
		out[id] = h
	}
	return out
}

// graver reports whether a is reported rather than b, which is about the same identifier.
func graver(a, b evidence.Evidence) bool {
	if a.Outcome != b.Outcome {
		return a.Outcome == evidence.Mismatch
	}
	return a.Authority == evidence.Publisher && b.Authority != evidence.Publisher
}

// hashStatus is the status of evidence that is a mismatch or unverifiable. A file of our own that
// cannot be read counts as unreachable, because both errors are temporary.
func hashStatus(e evidence.Evidence) registry.HashStatus {
	if e.Outcome == evidence.Mismatch {
		return registry.HashMismatch
	}
	switch e.Cause {
	case evidence.NotFound:
		return registry.HashNotFound
	case evidence.Unreachable, evidence.Unreadable:
		return registry.HashUnreachable
	case evidence.TooLarge:
		return registry.HashTooLarge
	case evidence.Ambiguous:
		return registry.HashAmbiguous
	}
	return registry.HashUnsupported
}

// refusal is the answer to a publish that v refuses: all that failed at once.
func refusal(v policy.Verdict, report evidence.Report) *registry.Problem {
	p := registry.NewProblem(http.StatusUnprocessableEntity, "")
	class := evidence.OK
	passing := true // every failure is temporary: of none it is known that somebody has to do something
	for _, f := range v.Refused() {
		e := f.Evidence
		passing = passing && e.Outcome == evidence.Unverifiable && hashStatus(e) == registry.HashUnreachable &&
			e.Next() == ""
		if isHashFailure(f) {
			continue
		}
		class = evidence.Worse(class, f.Class)
		message := e.Title()
		if e.FormatExpected() != "" && e.Outcome == evidence.Mismatch {
			message += fmt.Sprintf(": expected %+q, found %+q", e.FormatExpected(), e.Actual())
		}
		if e.Reason != "" {
			message += fmt.Sprintf(": %+q", e.Reason)
		}
		if next := v.Advice(f); e.Scheme == evidence.Ownership && next != "" {
			message += "; " + next
		}
		p.Errors = append(p.Errors, registry.ProblemError{Message: message, Location: "body.packages"})
	}
	var details []string
	if p.Details = failures(v); len(p.Details) > 0 {
		p.Failure = registry.HashFailed
		details = append(details, tally(p.Details, countClaimed(report)))
	}
	if n := len(p.Errors); n > 0 {
		p.Class = class.String()
		details = append(details, evidence.Count(n, "other check")+" failed")
	}
	p.Detail = strings.Join(details, "; ")
	if passing {
		p.Status, p.Title = http.StatusServiceUnavailable, http.StatusText(http.StatusServiceUnavailable)
		p.RetryAfter = retryAfter
	}
	return p
}

// countClaimed returns the number of identifiers with a claim about their bytes.
func countClaimed(report evidence.Report) int {
	ids := map[string]bool{}
	for _, e := range report {
		if e.Scheme != evidence.Ownership && e.Outcome != evidence.Absent {
			ids[e.Subject] = true
		}
	}
	return len(ids)
}

// tally sums failures up: "1 of 3 file hashes did not match".
func tally(details map[string]registry.HashFailure, of int) string {
	mismatches := 0
	for _, f := range details {
		if f.Status == registry.HashMismatch {
			mismatches++
		}
	}
	said := "failed"
	switch mismatches {
	case len(details):
		said = "did not match"
	case 0:
		said = "could not be computed"
	}
	return fmt.Sprintf("%d of %s %s", len(details), evidence.Count(of, "file hash"), said)
}
