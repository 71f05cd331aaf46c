package client

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/surface"
)

// What the answers of a registry to who publishes, logs in or changes a status come to.
// The class decides about the exit code.
//
//	answer                                     class       exit code
//	422 for a hash that does not match         integrity   3
//	422 for a check that policy refuses        policy      4   another owner, a hash that is required
//	401, 403                                   policy      4   no token, or not for this name
//	409                                        policy      4   a version never changes
//	410                                        policy      4   the version was deleted
//	404 of a login                             policy      4   the method is not offered
//	404 of a change of status                  validation  2   there is no such version
//	any other 422                              validation  2   of schema or meaning
//	any other 4xx                              validation  2   400, 405, 413, 415
//	422 for a hash that cannot be computed     operation   1   nothing was compared
//	404 of a publish                           operation   1   what answers is no registry
//	408, 429, 5xx, and what is no answer       operation   1   nothing was decided
//
// Of a 422 with several of these the first counts, as always.

// ClassOf is the class of an answer; missing is the class of a 404.
func ClassOf(p *registry.Problem, missing evidence.Class) evidence.Class {
	switch s := p.Status; {
	case s == http.StatusNotFound:
		return missing
	case s == http.StatusUnprocessableEntity:
		return refusalClass(p)
	case s == http.StatusUnauthorized, s == http.StatusForbidden, s == http.StatusConflict, s == http.StatusGone:
		return evidence.Refused
	case s == http.StatusRequestTimeout, s == http.StatusTooManyRequests, s < 400, s >= 500:
		return evidence.Operation
	}
	return evidence.Validation
}

// refusalClass is the most urgent class of a 422.
func refusalClass(p *registry.Problem) evidence.Class {
	class := evidence.OK
	for _, c := range []evidence.Class{evidence.Refused, evidence.Validation, evidence.Operation} {
		if p.Class == c.String() {
			class = c
		}
	}
	if p.Failure == registry.HashFailed {
		class = evidence.Worse(class, evidence.Operation)
		for _, f := range p.Details {
			if f.Status == registry.HashMismatch {
				class = evidence.Integrity
			}
		}
	}
	if class == evidence.OK {
		return evidence.Validation
	}
	return class
}

// ExplainAnswer gives the error of a publish or a change of status the class of its answer, of which
// missing is the error for a 404, and says what to do next.
func ExplainAnswer(subject string, missing evidence.Class, err error) error {
	if err == nil {
		return nil
	}
	var p *registry.Problem
	if !errors.As(err, &p) {
		return evidence.Errorf(evidence.ClassOf(err), subject, HintUnanswered(err), err)
	}
	e := &evidence.Error{Subject: subject, Kind: ClassOf(p, missing), Err: p}
	switch {
	case p.Status == http.StatusUnprocessableEntity && p.Failure == registry.HashFailed:
		e.Err, e.Detail = fmt.Errorf("the registry refused it: %s", surface.Escape(p.Detail)), listFailures(p)
		switch e.Kind {
		case evidence.Integrity:
			e.Hint = "the file changed after hashing, or was hashed elsewhere; run 'hallmark verify' and compare"
		case evidence.Operation:
			e.Hint = "the registry could not get what the document names; run 'hallmark verify' to see whether you can"
		}
	case p.Status == http.StatusUnauthorized:
		e.Hint = "log in first: 'hallmark login github --registry " + surface.Escape(p.Registry) + "', or by another " +
			"method that 'hallmark login --help' names; or put an API token into HALLMARK_TOKEN"
	case p.Status == http.StatusForbidden:
		e.Hint = "log in as the owner of this name, or ask the registry's operator for a token that permits it"
	case p.Status == http.StatusConflict:
		e.Hint = "a published version never changes; give the document a new version"
	case e.Kind == evidence.Operation && p.RetryAfter > 0:
		e.Hint = fmt.Sprintf("try again in %s", p.RetryAfter)
	}
	return e
}

// HintUnanswered returns what to do about the error of a call, if that is that no answer came.
func HintUnanswered(err error) string {
	var unanswered *url.Error
	var broken *net.OpError
	if evidence.ClassOf(err) != evidence.Operation || !errors.As(err, &unanswered) ||
		!unanswered.Timeout() && !errors.As(err, &broken) {
		return ""
	}
	return "see whether the address is right, and run the command again when the registry can be reached"
}

// listFailures lists all that a refusal for hashes names, a hash or another check.
func listFailures(p *registry.Problem) string {
	var lines strings.Builder
	for _, id := range slices.Sorted(maps.Keys(p.Details)) {
		f := p.Details[id]
		fmt.Fprintf(&lines, "  %s: %s\n    expected %s\n    actual   %s\n", surface.Escape(id),
			surface.Escape(string(f.Status)),
			surface.Escape(f.Expected), surface.Escape(cmp.Or(f.Actual, f.Reason, "not computed")))
	}
	for _, e := range p.Errors {
		fmt.Fprintf(&lines, "  %s\n", surface.Escape(e.Message))
	}
	return lines.String()
}
