package app

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/cmd/internal/program"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/surface"
)

// Outcome is the part that every JSON answer has.
type Outcome struct {
	OK       bool             `json:"ok"`
	ExitCode int              `json:"exit_code"`
	Class    evidence.Class   `json:"class"`
	Error    string           `json:"error,omitempty"`
	Hint     string           `json:"hint,omitempty"`
	Findings []policy.Finding `json:"findings,omitempty"`
}

// OutcomeOf returns the outcome of a flow that ended with a verdict and an error.
func OutcomeOf(v policy.Verdict, err error) Outcome {
	o := Outcome{OK: err == nil, ExitCode: program.ExitCode(err), Class: evidence.ClassOf(err), Findings: v.Findings}
	if err == nil {
		return o
	}
	var refusal *policy.Refusal
	var problem *evidence.Error
	switch {
	case errors.As(err, &refusal):
		if f, ok := refusal.Verdict.Deciding(); ok {
			o.Hint = refusal.Verdict.Advice(f)
		}
		o.Error = fmt.Sprintf("%d of %s refused", len(v.Refused()), evidence.Count(len(v.Findings), "finding"))
		if len(v.Findings) == 0 {
			o.Error, o.Findings = "refused", refusal.Verdict.Findings
		}
	case errors.As(err, &problem):
		o.Hint = artifact.RedactURLs(problem.Hint)
		plain := *problem
		plain.Hint = ""
		o.Error = plain.Error()
	default:
		o.Error = artifact.RedactURLs(err.Error())
	}
	return o
}

// WriteJSON prints v as one document, and returns err marked as already shown. If that goes to a file or another
// program and somebody is at the terminal, the error is printed there too.
func (a *App) WriteJSON(v any, err error) error {
	e := json.NewEncoder(escaping{a.Stdout})
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if failed := e.Encode(v); failed != nil {
		return failed
	}
	if err != nil {
		return program.Shown{Err: err, Away: isTerminal(a.Stderr) && !isTerminal(a.Stdout)}
	}
	return nil
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// escaping writes documents with [EscapeJSON]. An encoder gives it each as a whole.
type escaping struct{ to io.Writer }

func (w escaping) Write(document []byte) (int, error) {
	if _, err := w.to.Write(EscapeJSON(document)); err != nil {
		return 0, err
	}
	return len(document), nil
}

// Note prints a line for people, behind the name of the program.
func (a *App) Note(format string, args ...any) {
	fmt.Fprintf(a.Stderr, "%s: %s\n", a.Name, fmt.Sprintf(format, args...))
}

// Reporting wraps run: if JSON was asked for, an error before any report is printed as a JSON
// document too.
func (a *App) Reporting(asJSON *bool, run func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		err := run(c, args)
		if err == nil || !*asJSON || errors.As(err, new(program.Shown)) {
			return err
		}
		a.Bars.Stop()
		return a.WriteJSON(OutcomeOf(policy.Verdict{}, err), err)
	}
}

// EscapeJSON writes characters that a terminal would obey or hide, such as bidi controls, as \u
// escapes. In a JSON document they occur only in strings, where the escape means the same.
func EscapeJSON(document []byte) []byte {
	return surface.EscapeJSON(document, func(r rune) bool {
		return r >= 0x7f && surface.Escape(string(r)) != string(r)
	})
}

// WriteReport prints the allowed findings of a verdict to w, warnings with their details. The
// refused ones are printed with the error.
func WriteReport(w io.Writer, v policy.Verdict) error {
	var allowed evidence.Report
	for _, f := range v.Findings {
		// Of a package that names another server, or is in another form, a warning says more.
		if f.Class == evidence.OK &&
			!(f.Warning && (f.Evidence.Scheme == evidence.Ownership || f.Evidence.Scheme == evidence.Form)) {
			allowed = append(allowed, f.Evidence)
		}
	}
	var b bytes.Buffer // and not a call of the system for each line
	if err := errors.Join(allowed.WriteText(&b), WriteNotes(&b, v)); err != nil {
		return err
	}
	_, err := b.WriteTo(w)
	return err
}

// WriteWarnings prints the warnings among findings, each with why it is one and, unless the one before
// said the same, what to do about it.
func (a *App) WriteWarnings(v policy.Verdict, findings []policy.Finding) {
	last := ""
	for _, f := range findings {
		a.Note("warning: %s", f.Evidence.Title())
		if f.Evidence.Reason != "" {
			fmt.Fprintf(a.Stderr, "  reason   %s\n", surface.EscapeSentence(f.Evidence.Reason))
		}
		if next := v.Advice(f); next != "" && next != last {
			fmt.Fprintf(a.Stderr, "  hint: %s\n", next)
			last = next
		}
	}
}

// WriteNotes prints what a person should know about files that match: that a version was withdrawn,
// or how the file was fetched.
func WriteNotes(w io.Writer, v policy.Verdict) error {
	for _, f := range v.Findings {
		e := f.Evidence
		if f.Class == evidence.OK && e.Outcome == evidence.Match && e.Reason != "" {
			_, err := fmt.Fprintf(w, "note: %s: %s\n", surface.Escape(e.Subject), surface.EscapeSentence(e.Reason))
			if err != nil {
				return err
			}
		}
	}
	return nil
}
