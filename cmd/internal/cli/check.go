package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hallmark-mcp/hallmark/cmd/internal/app"
	"github.com/hallmark-mcp/hallmark/cmd/internal/program"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/check"
	"github.com/hallmark-mcp/hallmark/launcher"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/surface"
)

const checkHelp = `Verify that every server is declared as it was locked, that the files beside the lock,
executables and trees in the store are those that were locked, that its record is in
the registry's log, and report drift that a guard saw. Nothing is started.

A server or facet in order is one line. --verbose and --json show each comparison.

The registry is asked whether it still serves the records that were locked, whether
its log continues the one that this machine saw, and what the log says of the records
since. With --offline nothing is fetched; the proofs in the lock are verified all the
same, and a record that was locked without one is a warning.

With --strict Hallmark refuses each skill, agent and command in a directory that any client
reads, unless a locked facet put it there. It also refuses each hook and other command line
that a client's settings in the project run, your own too: it cannot tell whose they are.

With --surface each server of which nothing is refused is started from the verified bytes,
as several kinds of client, and what it shows is compared with the lock. Another surface of
the same bytes is an alarm, exit code 6; 'hallmark review' shows it. In CI, where no
machine has approved the lock, this needs --trust-lock.`

func checkCommand(a *app.App) *cobra.Command {
	var (
		dir     string
		verbose bool
		o       check.Options
	)
	g := &gate{what: "check", dir: &dir}
	c := &cobra.Command{
		Use:     "check",
		Short:   "Verify the whole lock, without starting anything",
		Example: "\n--offline\n--surface --trust-lock --sarif",
		Long:    checkHelp,
		Args:    app.Args(cobra.NoArgs),
		RunE: g.run(a, func(c *cobra.Command, _ []string) error {
			if o.TrustLock && !o.Surface {
				return app.Usage(c, errors.New("--trust-lock is about servers that --surface starts"))
			}
			collectRarely()
			h, err := a.Host(dir)
			if err != nil {
				return err
			}
			if err := a.LogOptions(c, &o.Log); err != nil {
				return err
			}
			checked, err := check.Check(c.Context(), h, dir, o)
			a.Bars.Stop()
			if err != nil && checked.Flow == "" {
				return err // before there was anything to report
			}
			return reportChecked(a, g, checked, verbose, err)
		}),
	}
	addProjectFlags(a, c, &dir, false)
	a.AllowFlags(c)
	app.LogKeyFlag(c, &o.Log)
	c.Flags().BoolVar(&o.Offline, "offline", false, "do not ask the registry")
	c.Flags().BoolVar(&o.Surface, "surface", false, "start the servers and compare what they show with the lock")
	c.Flags().BoolVar(&o.TrustLock, "trust-lock", false,
		"with --surface: accept the lock of this checkout without this machine's approval")
	c.Flags().BoolVar(&o.Strict, "strict", false,
		"refuse what hallmark.toml opts out of: unlocked = true, verify of type none, extra_arguments; "+
			"and what clients read or run here that no lock covers")
	c.Flags().BoolVarP(&verbose, "verbose", "v", false, "print each comparison, also those that match")
	g.flags(c, "print the evidence as one JSON document", "print what is wrong as SARIF 2.1.0")
	return c
}

// reportChecked prints what was compared, in the form that the flags ask for.
func reportChecked(a *app.App, g *gate, checked check.Result, verbose bool, err error) error {
	verdict := checked.Verdict
	more := failures(err)
	err = errors.Join(verdict.Err(), err, g.summarize(a, forReviewers(verdict), err, checked.Unseen...))
	switch {
	case g.sarif:
		found := append(results(verdict.Findings), more...)
		return a.WriteJSON(evidence.MakeSARIF(program.Release(), checkRules, found), err)
	case g.json:
		return a.WriteJSON(struct {
			app.Outcome
			Entries int      `json:"entries"`
			Sound   int      `json:"verified"`
			Waived  []string `json:"waived,omitempty"`
			Unseen  []string `json:"not_looked_at,omitempty"`
		}{app.OutcomeOf(verdict, err), checked.Entries, checked.Sound, checked.Waived, checked.Unseen}, err)
	}
	if verbose {
		return errors.Join(app.WriteReport(a.Stdout, verdict), err, printClosing(a.Stdout, checked))
	}
	return errors.Join(printChecked(a.Stdout, checked), err, printClosing(a.Stdout, checked))
}

// printChecked prints one line for each server and facet that is well, and one for each finding that a
// person should know of. What is refused is printed with the error.
func printChecked(w io.Writer, checked check.Result) error {
	var b strings.Builder
	width := 0
	said := map[string]bool{} // whose line says that it is not approved
	for _, e := range checked.Each {
		if e.Sound {
			width = max(width, len(surface.Escape(e.Name)))
			said[e.Name] = slices.ContainsFunc(e.Report, isUnapproved)
		}
	}
	for _, e := range checked.Each {
		if !e.Sound {
			continue
		}
		fmt.Fprintf(&b, "ok  %-*s  %s  %d of %d match", width, surface.Escape(e.Name), surface.Escape(e.What),
			e.Report.Count(evidence.Match), len(e.Report))
		if said[e.Name] {
			b.WriteString(", not approved on this machine")
		}
		b.WriteByte('\n')
	}
	for _, f := range checked.Remarks() {
		kind := "note"
		if f.Warning {
			kind = "warning"
		}
		if !isUnapproved(f.Evidence) || !said[f.Evidence.Subject] {
			fmt.Fprintf(&b, "%s: %s\n", kind, f.Evidence.Headline())
		}
	}
	_, err := io.WriteString(w, b.String())
	return errors.Join(err, app.WriteNotes(w, checked.Verdict))
}

// forReviewers is v without what a reviewer cannot change: that a machine has not approved an entry, and what it has
// not looked at, of which the summary has a list.
func forReviewers(v policy.Verdict) policy.Verdict {
	v.Findings = slices.DeleteFunc(slices.Clone(v.Findings), func(f policy.Finding) bool {
		return f.Class == evidence.OK && (isUnapproved(f.Evidence) || check.IsUnseen(f))
	})
	return v
}

// isUnapproved reports whether e says that this machine has not approved an entry, as no machine of CI has.
func isUnapproved(e evidence.Evidence) bool {
	return e.Scheme == evidence.Approval && e.Outcome == evidence.Absent
}

// printClosing prints what was waived and what was not examined, and then the one line with the result
// of the check.
func printClosing(w io.Writer, checked check.Result) error {
	var b strings.Builder
	printWaived(&b, checked.Waived)
	for _, each := range checked.Unseen {
		fmt.Fprintf(&b, "not looked at: %s\n", surface.Escape(each))
	}
	if slices.ContainsFunc(checked.Verdict.Findings, check.IsUnseen) {
		b.WriteString("  hint: 'hallmark install' fetches facets, the first 'hallmark run NAME' what a server runs\n")
	}
	fmt.Fprintf(&b, "%d of %d verified", checked.Sound, checked.Entries)
	if refused := len(checked.Verdict.Refused()); refused > 0 {
		fmt.Fprintf(&b, ", %s refused", evidence.Count(refused, "finding"))
	}
	if n := len(checked.Waived); n > 0 {
		fmt.Fprintf(&b, ", %d waived", n)
	}
	if n := len(checked.Unseen); n > 0 {
		fmt.Fprintf(&b, ", %d not looked at", n)
	}
	_, err := fmt.Fprintln(w, b.String())
	return err
}

// printWaived prints opt-outs of hallmark.toml, one per line.
func printWaived(w io.Writer, waived []string) error {
	for _, each := range waived {
		if _, err := fmt.Fprintf(w, "waived: %s\n", surface.Escape(each)); err != nil {
			return err
		}
	}
	return nil
}

// checkRules describes the findings of a check that code scanning shows most often.
var checkRules = map[string]string{
	ruleFailed:            "Hallmark ended before it had looked at everything, and says why.",
	"surface-mismatch":    "What the server shows a model is not what was approved.",
	"surface-absent":      "The server shows a model something that nobody approved, or no longer shows what was.",
	"launch-mismatch":     "The server is declared otherwise than when it was locked.",
	"launch-waived":       "hallmark.toml opts out of an entry of the lock, or of the approval of arguments.",
	"launch-missing":      "The server is declared and not locked, or locked and no longer declared.",
	"source-missing":      "The facet is declared and not locked, or locked and no longer declared.",
	"proof-missing":       "The proof that the record is in the registry's log was there, and is gone.",
	"document-missing":    "A file beside the lock is gone.",
	"installed-missing":   "A file of an installed facet is gone.",
	launcher.RuleUnlocked: launcher.Rules[launcher.RuleUnlocked],
	launcher.RuleProgram:  "A client runs a command line of the project itself, and no lock covers it.",
	"unhashed-mismatch":   "A file that no claim covers lies in the directory of a locked skill.",
	"file-mismatch":       "A file is not the one that was locked.",
	"tree-mismatch":       "Installed packages are not those that were locked.",
	"tree-unverifiable":   "Packages are not installed on this machine; the next run fetches and verifies them.",
	"document-mismatch":   "A file beside the lock, or a registry's record, is not the one that was locked.",
	"oci-mismatch":        "The tag of an image leads to another image than the locked one.",
	"approval-absent":     "This machine has not approved the lock's entry.",
	"approval-mismatch":   "The lock's entry is not the one that this machine approved.",
	"proof-absent":        "Nothing proves that the record is in a registry's log.",
	"installed-mismatch":  "An installed file of a facet was changed.",
	"facet-tar-mismatch":  "The contents of a facet are not those that were locked.",
	"checkpoint-mismatch": "The registry's log is older than the rules allow.",
}
