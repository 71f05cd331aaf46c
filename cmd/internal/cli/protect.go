package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hallmark-mcp/hallmark/cmd/internal/app"
	"github.com/hallmark-mcp/hallmark/cmd/internal/program"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/clients"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/scan"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/surface"
)

const protectHelp = `Find the MCP clients on this machine, show what each of them starts, and ask once for each
client. Then fetch and hash its servers, start each of them a few times to see what it
shows different clients, lock that, and rewrite the client's file: from then on it starts
'hallmark run NAME', which starts the locked bytes and nothing else.

A server that cannot be protected stays as it is, and the others go on. 'hallmark undo'
gives every file back. What is locked is in your configuration directory, whatever the
current directory is. The files of a project are its team's: see 'hallmark pin --help'.`

func protectCommand(a *app.App) *cobra.Command {
	var o scan.ProtectOptions
	var yes, asJSON bool
	c := &cobra.Command{
		Use:     "protect",
		Short:   "Protect the MCP servers of all your clients",
		Example: "\n--dry-run\n--client cursor,claude-code --yes",
		Long:    protectHelp,
		Args:    app.Args(cobra.NoArgs),
		RunE: a.Reporting(&asJSON, a.OnHost(nil, func(c *cobra.Command, h *host.Host, _ []string) (err error) {
			if o.Home, err = os.UserHomeDir(); err != nil {
				return evidence.Errorf(evidence.Operation, "", "", err)
			}
			o.Program = app.OwnFile() // without it nothing is protected, which is said
			say := a.Stdout
			if asJSON {
				say = a.Stderr
			}
			if !yes && !o.Dry && !a.HasTerminal() && anyOpen(c.Context(), h, o) {
				return app.Usage(c, errors.New("nobody is at a terminal to agree: --yes does it without asking, and "+
					"--dry-run shows what it would do"))
			}
			o.Allow = askForClient(c.Context(), a, say, yes)
			o.Done = func(client scan.ProtectedClient) {
				a.Bars.Stop()
				if !asJSON {
					showProtected(say, client)
				}
			}
			r, err := scan.Protect(c.Context(), h, o)
			a.Bars.Stop()
			if asJSON {
				return writeProtected(a, r, err)
			}
			return sumProtected(a, say, r, o, err)
		})),
	}
	c.Flags().StringSliceVar(&o.Clients, "client", nil, "only this `client`: "+strings.Join(clients.Names(), ", "))
	_ = c.RegisterFlagCompletionFunc("client", completeClient) // which is a flag of c
	c.Flags().BoolVar(&yes, "yes", false, "do it without asking")
	c.Flags().BoolVar(&o.Dry, "dry-run", false, "show what would be protected, and change nothing")
	c.Flags().BoolVar(&asJSON, "json", false, "print what became of each server as one JSON document")
	return c
}

// anyOpen reports whether a server can be protected, about which somebody has to be asked.
func anyOpen(ctx context.Context, h *host.Host, o scan.ProtectOptions) bool {
	o.Dry = true
	r, _ := scan.Protect(ctx, h, o) // the call that follows reports an error
	return r != nil && slices.ContainsFunc(r.Clients, func(c *scan.ProtectedClient) bool { return len(c.Open()) > 0 })
}

// writeProtected prints what became of each server as JSON.
func writeProtected(a *app.App, r *scan.ProtectResult, err error) error {
	r = cmp.Or(r, &scan.ProtectResult{Clients: []*scan.ProtectedClient{}})
	outcome := app.OutcomeOf(policy.Verdict{}, err)
	if errors.Is(err, context.Canceled) {
		outcome.Error = interruptedText(r)
	}
	return a.WriteJSON(struct {
		app.Outcome
		*scan.ProtectResult
	}{outcome, r}, err)
}

// askForClient returns a function that shows the servers of a client and asks whether they are to be protected.
func askForClient(ctx context.Context, a *app.App, w io.Writer, yes bool) func(scan.ProtectedClient) (bool, error) {
	return func(client scan.ProtectedClient) (bool, error) {
		a.Bars.Stop()
		showClient(w, client)
		if yes {
			return true, nil
		}
		answer, err := a.Ask(ctx, fmt.Sprintf("Protect %s of %s? Each is fetched, started a few times to see what it "+
			"shows different clients, and locked.",
			evidence.Count(len(client.Open()), "server"), client.Name))
		return answer == host.InformedConsent, err
	}
}

// showClient prints what a client starts.
func showClient(w io.Writer, client scan.ProtectedClient) {
	for i, s := range client.Servers {
		if i > 0 && s.File == client.Servers[i-1].File {
			continue
		}
		fmt.Fprintf(w, "\n%s  %s\n", client.Name, surface.Escape(s.File))
		t := table{indent: "  "}
		for _, other := range client.Servers[i:] {
			if other.File != s.File {
				break
			}
			t.add(stateWord(other), surface.Escape(other.Name), surface.Escape(other.Starts))
		}
		t.writeTo(w)
	}
}

// stateWord is what is said of a server before anything happens.
func stateWord(s *scan.ProtectedServer) string {
	switch s.Outcome {
	case scan.OutcomeAlready:
		return "protected"
	case scan.OutcomeLeft:
		return "left"
	}
	return "open"
}

// showProtected prints what became of the servers of a client.
func showProtected(w io.Writer, client scan.ProtectedClient) {
	t := table{indent: "  "}
	for _, s := range client.Servers {
		switch s.Outcome {
		case scan.OutcomeProtected:
			t.add("protected", surface.Escape(s.Name), surface.Escape(s.Ref)+itemCount(s))
		case scan.OutcomeFailed:
			t.add("failed", surface.Escape(s.Name), "")
		}
	}
	t.writeTo(w)
}

// itemCount says how much a server shows a model; "" if that is not known.
func itemCount(s *scan.ProtectedServer) string {
	if s.Items == 0 {
		return ""
	}
	return ", " + evidence.Count(s.Items, "item") + " shown to a model"
}

// escapeLines escapes a text of several lines, which stay. What a program said is escaped in it already.
func escapeLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = surface.EscapeSentence(line)
	}
	return strings.Join(lines, "\n  ")
}

// firstLine returns the first line of a text.
func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return surface.EscapeSentence(line)
}

// sumProtected prints how many servers are protected, why the others are not, and what to type next; in a dry run the
// servers of each client before that. It prints nothing of r if that is nil, as after an error.
func sumProtected(a *app.App, w io.Writer, r *scan.ProtectResult, o scan.ProtectOptions, err error) error {
	if r == nil {
		return err
	}
	if o.Dry {
		for _, client := range r.Clients {
			showClient(w, *client)
		}
	}
	count, others := countOutcomes(r)
	if errors.Is(err, context.Canceled) {
		return program.Shown{Err: errors.Join(err, a.Show(fmt.Sprintf("%s: %s\n", a.Name, interruptedText(r))))}
	}
	protected := count[scan.OutcomeProtected] + count[scan.OutcomeAlready]
	total := protected + count[scan.OutcomeOpen] + count[scan.OutcomeFailed] + count[scan.OutcomeLeft]
	if total == 0 {
		if err == nil {
			fmt.Fprintln(w, "No MCP server was found in the files of your clients.")
			fmt.Fprintln(w, "For the servers in a project's files, run 'hallmark scan' in its directory.")
		}
		return err
	}
	if total > count[scan.OutcomeAlready] { // there are lines above
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "%d of %s protected.", protected, evidence.Count(total, "server"))
	switch {
	case o.Dry && count[scan.OutcomeOpen] > 0:
		fmt.Fprint(w, " 'hallmark protect' protects those that are open.")
	case count[scan.OutcomeProtected] > 0:
		fmt.Fprint(w, "\nStart your clients anew to use them; 'hallmark undo' gives everything back.")
	}
	fmt.Fprintln(w)
	if len(others) > 0 {
		fmt.Fprintf(w, "\nWorth knowing:\n%s\n", strings.Join(others, "\n"))
	}
	if err != nil && count[scan.OutcomeFailed] > 0 {
		text := fmt.Sprintf("\n%s: not protected: %s\n", a.Name,
			evidence.Count(count[scan.OutcomeFailed], "server")) + failedText(r)
		err = errors.Join(err, a.Show(text))
		return program.Shown{Err: err}
	}
	return err
}

// interruptedText says what was protected when the user interrupted it.
func interruptedText(r *scan.ProtectResult) string {
	count, _ := countOutcomes(r)
	if n := count[scan.OutcomeProtected]; n > 0 {
		return "interrupted; " + evidence.Count(n, "server") + " protected before that; 'hallmark undo' gives " +
			"everything back"
	}
	return "interrupted; nothing was changed"
}

// countOutcomes counts the servers by what became of them. others is a text of each of which there is something to
// know.
func countOutcomes(r *scan.ProtectResult) (count map[scan.Outcome]int, others []string) {
	count = map[scan.Outcome]int{}
	for _, client := range r.Clients {
		for _, s := range client.Servers {
			count[s.Outcome]++
			if s.Outcome != scan.OutcomeFailed && s.Reason != "" {
				line := fmt.Sprintf("  %s (%s): %s", surface.Escape(s.Name), client.Name, firstLine(s.Reason))
				if s.Hint != "" {
					line += "\n    hint: " + surface.EscapeSentence(s.Hint)
				}
				others = append(others, line)
			}
		}
	}
	return count, others
}

// failedText says of each server that is not protected why.
func failedText(r *scan.ProtectResult) (text string) {
	for _, f := range r.Unread {
		text += fmt.Sprintf("  %s cannot be read: %s\n", surface.Escape(f.File), firstLine(f.Reason))
	}
	for _, client := range r.Clients {
		for _, s := range client.Servers {
			if s.Outcome == scan.OutcomeFailed {
				text += fmt.Sprintf("  %s (%s): %s\n", surface.Escape(s.Name), client.Name, escapeLines(s.Reason))
				if s.Hint != "" {
					text += fmt.Sprintf("    hint: %s\n", surface.EscapeSentence(s.Hint))
				}
			}
		}
	}
	return text
}

func undoCommand(a *app.App) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "undo [NAME...]",

		ValidArgsFunction: completeProtected,

		Short:   "Give your clients back what they started before",
		Example: "\nnotes",
		Long: `Give the files of your MCP clients back what their entries were before 'hallmark protect',
for the servers that are named or for all of them. A file that nobody changed since gets
its bytes back; in one that its client wrote anew, the command and the arguments of the
entry are restored. What was locked for them is unlocked. Skills and what projects have locked stay.

An entry that you edited since is named, and stays as it is.`,
		RunE: a.Reporting(&asJSON, a.OnHost(nil, func(c *cobra.Command, h *host.Host, names []string) error {
			home, err := os.UserHomeDir()
			if err != nil {
				return evidence.Errorf(evidence.Operation, "", "", err)
			}
			undone, err := scan.UndoProtect(c.Context(), h, home, names)
			if asJSON {
				return writeUnpinned(a, undone, err)
			}
			for _, u := range undone {
				for _, file := range u.Restored {
					fmt.Fprintf(a.Stdout, "restored  %s in %s\n", surface.Escape(u.Name), surface.Escape(file))
				}
			}
			if len(undone) == 0 && err == nil {
				fmt.Fprintln(a.Stdout, "Nothing is protected, so there is nothing to undo.")
			}
			return err
		})),
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print what was undone as one JSON document")
	return c
}
