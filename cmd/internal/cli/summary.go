package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/cmd/internal/app"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/surface"
)

// maxRows bounds a table of a summary: in a page that is too long to read, findings go unnoticed.
const maxRows = 100

// summarize appends to the summary, if one is asked for: of a verdict a line, and a table of what was refused,
// waived, warned about, or not examined; of an error that is no verdict, what it says and its hint. No link of
// the project is followed.
func (g *gate) summarize(a *app.App, v policy.Verdict, problem error, unseen ...string) error {
	g.reported = true
	if g.file == "" {
		return nil
	}
	text := ""
	if what := a.Name + " " + g.what; v.Flow != "" {
		text = markdown(what, v, unseen) + failed(what, problem)
	} else if refusal := new(policy.Refusal); errors.As(problem, &refusal) {
		text = markdown(what, refusal.Verdict, nil)
	} else {
		text = failed(what, problem)
	}
	f, err := workspace.OpenAppend(*g.dir, g.file)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// failed returns the error that kept a command from its end as Markdown; "" for nil.
func failed(what string, problem error) string {
	if problem == nil {
		return ""
	}
	o := app.OutcomeOf(policy.Verdict{}, problem)
	text := fmt.Sprintf("### ❌ %s: did not finish\n\n%s\n\n", what, cell(o.Error))
	if o.Hint != "" {
		text += "hint: " + cell(o.Hint) + "\n\n"
	}
	return text
}

func markdown(what string, v policy.Verdict, unseen []string) string {
	byWord := rowsByWord(v)
	var b strings.Builder
	mark, verdict := "✅", "nothing is refused"
	if err := v.Err(); err != nil {
		mark, verdict = "❌", evidence.Count(len(byWord["refused"]), "finding")+" refused"
	}
	fmt.Fprintf(&b, "### %s %s: %s", mark, what, verdict)
	for _, word := range []string{"waived", "warning"} {
		if n := len(byWord[word]); n > 0 {
			fmt.Fprintf(&b, ", %s: %d", word, n)
		}
	}
	if n := len(unseen); n > 0 {
		fmt.Fprintf(&b, ", not looked at: %d", n)
	}
	b.WriteString("\n\n")
	for _, each := range unseen[:min(len(unseen), maxRows)] {
		fmt.Fprintf(&b, "- not looked at: %s\n", cell(each))
	}
	if len(unseen) > 0 {
		b.WriteByte('\n')
	}
	if rows := slices.Concat(byWord["refused"], byWord["waived"], byWord["warning"]); len(rows) > 0 {
		b.WriteString("| | rule | what | where | why |\n|---|---|---|---|---|\n")
		for _, row := range rows[:min(len(rows), maxRows)] {
			b.WriteString(row)
		}
		if more := len(rows) - maxRows; more > 0 {
			fmt.Fprintf(&b, "\n%d more are in the log.\n", more)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// rowsByWord returns rows of the table: those of what is refused, waived and a warning.
func rowsByWord(v policy.Verdict) map[string][]string {
	byWord := map[string][]string{}
	for _, f := range v.Findings {
		word := ""
		switch {
		case f.Class != evidence.OK:
			word = "refused"
		case f.Evidence.Outcome == evidence.Waived:
			word = "waived"
		case f.Warning:
			word = "warning"
		default:
			continue
		}
		e := f.Evidence
		rule := e.Rule
		if rule == "" {
			rule = string(e.Scheme) + " " + string(e.Outcome)
		}
		at := e.Where
		if e.Place.File != "" {
			at = e.Place.Show()
		}
		byWord[word] = append(byWord[word],
			fmt.Sprintf("| %s | %s | %s | %s | %s |\n", word, cell(rule), cell(e.Subject), cell(at), cell(e.Reason)))
	}
	return byWord
}

// cell returns text from outside for a cell of a table: visible characters, escaped where Markdown
// or HTML would interpret them.
func cell(s string) string {
	var b strings.Builder
	for _, r := range surface.Escape(s) {
		switch {
		case r == '\n' || r == '\r':
			b.WriteByte(' ')
		case strings.ContainsRune("\\`*_{}[]()<>#+!|~&@:$", r):
			fmt.Fprintf(&b, "&#%d;", r)
		default:
			b.WriteRune(r)
		}
	}
	return strings.ReplaceAll(b.String(), "www.", "www&#46;") // which would be a link
}
