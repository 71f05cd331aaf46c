package cli

import (
	"errors"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/hallmark-mcp/hallmark/cmd/internal/app"
	"github.com/hallmark-mcp/hallmark/cmd/internal/program"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/spelling"
	"github.com/hallmark-mcp/hallmark/policy"
)

// gate is how a command that CI runs reports: SARIF and a summary say how it ended, whatever the end.
type gate struct {
	what        string
	dir         *string // of the project
	json, sarif bool
	file        string // that a summary is appended to, "" for none
	reported    bool   // a summary and SARIF were written, or are about to be
}

func (g *gate) flags(c *cobra.Command, asJSON, asSARIF string) {
	c.Flags().BoolVar(&g.json, "json", false, asJSON)
	c.Flags().BoolVar(&g.sarif, "sarif", false, asSARIF)
	c.Flags().StringVar(&g.file, "summary", "", "append a summary for reviewers to `file`, as Markdown")
}

// run wraps do, which calls [gate.summarize] once it has something to report. An error before that is
// reported here, and printed as any other too.
func (g *gate) run(a *app.App, do func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return a.Reporting(&g.json, func(c *cobra.Command, args []string) error {
		err := app.Usage(c, errors.New("--json and --sarif exclude each other"))
		if !g.json || !g.sarif {
			err = do(c, args)
		}
		if err == nil || g.reported {
			return err
		}
		if unwritten := g.summarize(a, policy.Verdict{}, err); unwritten != nil {
			err = errors.Join(err, unwritten)
		}
		if g.sarif && !g.json {
			a.Bars.Stop()
			return errors.Join(err, a.WriteJSON(evidence.MakeSARIF(program.Release(), checkRules, failures(err)), nil))
		}
		return err
	})
}

// ruleFailed is the rule of an error that is no verdict.
const ruleFailed = "did-not-finish"

// inProject matches an error about a file of the project, with or without a line.
var inProject = spelling.Form(`(?:^|[/\\])(hallmark\.(?:toml|lock)):(?: line ([1-9][0-9]{0,8})\b)?`)

// failures returns what err says, for code scanning: the findings of a refusal, of any other error one, at the file
// of the project that it is about.
func failures(err error) []evidence.Result {
	if err == nil {
		return nil
	}
	if refusal := new(policy.Refusal); errors.As(err, &refusal) {
		return results(refusal.Verdict.Findings)
	}
	o := app.OutcomeOf(policy.Verdict{}, err)
	e := evidence.CannotVerify(evidence.Claim{Subject: "hallmark", Scheme: evidence.Document,
		Authority: evidence.Caller},
		evidence.Malformed, o.Error)
	if e.Rule = ruleFailed; o.Hint != "" {
		e.Reason += "; " + o.Hint
	}
	if m := inProject().FindStringSubmatch(o.Error); m != nil {
		e.Place.File = m[1]
		e.Place.Line, _ = strconv.Atoi(m[2])
	}
	return []evidence.Result{{Evidence: e, Level: evidence.LevelError}}
}
