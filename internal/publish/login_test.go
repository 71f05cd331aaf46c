package publish

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/client"
)

// TestAnswers is the table of answer.go.
func TestAnswers(t *testing.T) {
	hashes := func(class string, statuses ...registry.HashStatus) *registry.Problem {
		p := &registry.Problem{Status: 422, Failure: registry.HashFailed, Class: class,
			Details: map[string]registry.HashFailure{}}
		for i, s := range statuses {
			p.Details[fmt.Sprint(i)] = registry.HashFailure{Status: s}
		}
		return p
	}
	for name, c := range map[string]struct {
		problem                *registry.Problem
		publish, status, login evidence.Class
	}{
		"mismatch": {hashes("", registry.HashMismatch), evidence.Integrity, evidence.Integrity,
			evidence.Integrity},
		"mismatch among others": {hashes("", registry.HashNotFound, registry.HashMismatch, registry.HashTooLarge),
			evidence.Integrity, evidence.Integrity, evidence.Integrity},
		"mismatch, other owner": {hashes("policy", registry.HashMismatch), evidence.Integrity, evidence.Integrity,
			evidence.Integrity},
		"not found": {hashes("", registry.HashNotFound), evidence.Operation, evidence.Operation,
			evidence.Operation},
		"too large": {hashes("", registry.HashTooLarge), evidence.Operation, evidence.Operation,
			evidence.Operation},
		"gone, other owner": {hashes("policy", registry.HashNotFound), evidence.Refused, evidence.Refused,
			evidence.Refused},
		"gone, nobody to ask": {hashes("operation", registry.HashNotFound), evidence.Operation, evidence.Operation,
			evidence.Operation},
		"other owner": {&registry.Problem{Status: 422, Class: "policy"}, evidence.Refused, evidence.Refused,
			evidence.Refused},
		"owner unknown": {&registry.Problem{Status: 422, Class: "operation"}, evidence.Operation,
			evidence.Operation, evidence.Operation},
		"schema": {&registry.Problem{Status: 422, Detail: "validation failed"}, evidence.Validation,
			evidence.Validation, evidence.Validation},
		"made up, 422": {&registry.Problem{Status: 422, Class: "ok"}, evidence.Validation, evidence.Validation,
			evidence.Validation},
		"made up, 503": {&registry.Problem{Status: 503, Class: "integrity", Failure: registry.HashFailed},
			evidence.Operation, evidence.Operation, evidence.Operation},
		"301": {&registry.Problem{Status: 301}, evidence.Operation, evidence.Operation,
			evidence.Operation},
		"400": {&registry.Problem{Status: 400}, evidence.Validation, evidence.Validation,
			evidence.Validation},
		"401": {&registry.Problem{Status: 401}, evidence.Refused, evidence.Refused, evidence.Refused},
		"403": {&registry.Problem{Status: 403}, evidence.Refused, evidence.Refused, evidence.Refused},
		"404": {&registry.Problem{Status: 404}, evidence.Operation, evidence.Validation,
			evidence.Refused},
		"405": {&registry.Problem{Status: 405}, evidence.Validation, evidence.Validation,
			evidence.Validation},
		"408": {&registry.Problem{Status: 408}, evidence.Operation, evidence.Operation,
			evidence.Operation},
		"409": {&registry.Problem{Status: 409}, evidence.Refused, evidence.Refused, evidence.Refused},
		"410": {&registry.Problem{Status: 410}, evidence.Refused, evidence.Refused, evidence.Refused},
		"413": {&registry.Problem{Status: 413}, evidence.Validation, evidence.Validation,
			evidence.Validation},
		"415": {&registry.Problem{Status: 415}, evidence.Validation, evidence.Validation,
			evidence.Validation},
		"429": {&registry.Problem{Status: 429}, evidence.Operation, evidence.Operation,
			evidence.Operation},
		"500": {&registry.Problem{Status: 500}, evidence.Operation, evidence.Operation,
			evidence.Operation},
		"503": {&registry.Problem{Status: 503}, evidence.Operation, evidence.Operation,
			evidence.Operation},
	} {
		for call, err := range map[string]struct {
			err  error
			want evidence.Class
		}{
			"publish": {client.ExplainAnswer("a", evidence.Operation, c.problem), c.publish},
			"status":  {client.ExplainAnswer("a", evidence.Validation, c.problem), c.status},
			"login":   {explainLogin("a", c.problem), c.login},
		} {
			if got := evidence.ClassOf(err.err); got != err.want {
				t.Errorf("%s of a %s: %s, want %s", name, call, got, err.want)
			}
		}
	}
	if err := client.ExplainAnswer("a", evidence.Operation, nil); err != nil {
		t.Error(err)
	}
	if got := evidence.ClassOf(client.ExplainAnswer("a", evidence.Validation,
		errors.New("no route"))); got != evidence.Operation {
		t.Errorf("no answer: %s", got)
	}

	// All that was refused is shown, and nothing of it is obeyed by a terminal.
	p := hashes("policy", registry.HashMismatch)
	p.Errors = []registry.ProblemError{{Message: "another owner\x1b[2J"}}
	text := client.ExplainAnswer("a", evidence.Operation, p).Error()
	if !strings.Contains(text, "\n  another owner") || strings.Contains(text, "\x1b") ||
		!strings.Contains(text, "  0: mismatch\n") || !strings.Contains(text, "hallmark verify") {
		t.Errorf("%q", text)
	}
	text = client.ExplainAnswer("a", evidence.Operation,
		&registry.Problem{Status: 503, RetryAfter: 30 * time.Second}).Error()
	if !strings.Contains(text, "hint: try again in 30s") {
		t.Errorf("%q", text)
	}
}
