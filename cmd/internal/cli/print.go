package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/policy"
)

// outcome is the part that every JSON answer has.
type outcome struct {
	OK       bool             `json:"ok"`
	ExitCode int              `json:"exit_code"`
	Class    evidence.Class   `json:"class"`
	Error    string           `json:"error,omitempty"`
	Hint     string           `json:"hint,omitempty"`
	Findings []policy.Finding `json:"findings,omitempty"`
}

func outcomeOf(v policy.Verdict, err error) outcome {
	o := outcome{OK: err == nil, ExitCode: exitCode(err), Class: evidence.ClassOf(err), Findings: v.Findings}
	if err == nil {
		return o
	}
	var refusal *policy.Refusal
	var problem *evidence.Error
	switch {
	case errors.As(err, &refusal):
		o.Error = fmt.Sprintf("%d of %d findings refused", len(v.Refused()), len(v.Findings))
		if len(v.Findings) == 0 {
			o.Error, o.Findings = "refused", refusal.Verdict.Findings
		}
	case errors.As(err, &problem):
		o.Hint = problem.Hint
		plain := *problem
		plain.Hint = ""
		o.Error = plain.Error()
	default:
		o.Error = err.Error()
	}
	return o
}

// json prints v as one document and returns err as already shown.
func (a *app) json(v any, err error) error {
	e := json.NewEncoder(a.stdout)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if failed := e.Encode(v); failed != nil {
		return failed
	}
	if err != nil {
		return shownError{err}
	}
	return nil
}

// report prints what a verdict allowed to w, warnings with their details. What it
// refused is the error's to print.
func report(w io.Writer, v policy.Verdict) error {
	var allowed evidence.Report
	for _, f := range v.Findings {
		if f.Class == evidence.OK {
			allowed = append(allowed, f.Evidence)
		}
	}
	return allowed.WriteText(w)
}
