package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/hallmark-mcp/hallmark"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

// projectFlag adds --project.
func projectFlag(c *cobra.Command, dir *string) {
	c.Flags().StringVar(dir, "project", ".", "`directory` that holds "+project.ConfigFile)
}

func (a *app) pin() *cobra.Command {
	var (
		dir, missing string
		yes, asJSON  bool
	)
	c := &cobra.Command{
		Use:   "pin [NAME...]",
		Short: "Lock the servers of hallmark.toml to exact bytes and surfaces",
		Long: `Resolve each server to exact artifacts, fetch and hash them, compare them with the
registry's record, start the server to see its surface, show all of it, and after
consent write hallmark.lock, hallmark.surfaces/NAME.json and, for a package, its
resolved dependencies in hallmark.closures/NAME.json.`,
		RunE: func(c *cobra.Command, names []string) error {
			h, err := a.host(dir)
			if err != nil {
				return err
			}
			o := hallmark.PinOptions{Settings: policy.Settings{MissingHashes: policy.Missing(missing)}}
			switch o.Settings.MissingHashes {
			case policy.MissingDefault, policy.MissingAllow, policy.MissingWarn, policy.MissingRefuse:
			default:
				return usage(c, errors.New("--missing-hashes is allow, warn or refuse"))
			}
			o.Confirm = func(p *hallmark.Pinned) (bool, error) {
				a.bars.stop()
				a.showPin(a.stderr, p)
				if yes {
					return true, nil
				}
				ok, err := a.ask("Lock this?")
				if errors.Is(err, errNoTerminal) {
					return false, nil // policy refuses for want of consent
				}
				return ok, err
			}
			pinned, err := hallmark.Pin(c.Context(), h, dir, names, o)
			a.bars.stop()
			if asJSON {
				return a.json(pinResult(pinned, err), err)
			}
			if err != nil {
				return err
			}
			for _, p := range pinned {
				fmt.Fprintf(a.stderr, "%s: %s is pinned\n", a.name, p.Name)
			}
			return nil
		},
	}
	projectFlag(c, &dir)
	c.Flags().BoolVar(&yes, "yes", false, "consent without being asked")
	c.Flags().BoolVar(&asJSON, "json", false, "print the entries and the evidence as one JSON document")
	c.Flags().StringVar(&missing, "missing-hashes", "", "what a record without hashes does: allow, warn or refuse (default warn)")
	return c
}

func pinResult(pinned []*hallmark.Pinned, err error) any {
	type server struct {
		Name     string             `json:"name"`
		Written  bool               `json:"written"`
		Entry    project.ServerLock `json:"entry"`
		Changes  []surface.Change   `json:"changes"`
		Findings []policy.Finding   `json:"findings"`
	}
	servers := []server{}
	for _, p := range pinned {
		servers = append(servers, server{p.Name, p.Written, p.Entry, p.Changes, p.Verdict.Findings})
	}
	return struct {
		outcome
		Servers []server `json:"servers"`
	}{outcomeOf(policy.Verdict{}, err), servers}
}

// showPin prints all that consent is asked for.
func (a *app) showPin(w io.Writer, p *hallmark.Pinned) {
	fmt.Fprintf(w, "\n%s\n", p.Name)
	fmt.Fprintf(w, "  runs        %s\n", surface.Escape(p.Entry.Ref))
	for _, d := range p.Entry.Artifacts {
		fmt.Fprintf(w, "  bytes       %s\n", d)
	}
	if len(p.Entry.Arguments) > 0 {
		fmt.Fprintf(w, "  arguments   %s\n", surface.Escape(strings.Join(p.Entry.Arguments, " ")))
	}
	if len(p.Entry.Variables) > 0 {
		fmt.Fprintf(w, "  variables   %s\n", surface.Escape(strings.Join(p.Entry.Variables, " ")))
	}
	if r := p.Entry.Record; r != nil {
		fmt.Fprintf(w, "  record      %s@%s at %s\n", surface.Escape(r.Name), surface.Escape(r.Version), surface.Escape(r.Registry))
	}
	counts := map[evidence.Outcome]int{}
	for _, f := range p.Verdict.Findings {
		counts[f.Evidence.Outcome]++
	}
	fmt.Fprintf(w, "  evidence    %d match, %d absent, %d waived\n", counts[evidence.Match], counts[evidence.Absent], counts[evidence.Waived])
	for _, f := range p.Verdict.Warnings() {
		fmt.Fprintf(w, "  warning     %s\n", f.Evidence.Title())
		if f.Evidence.Reason != "" {
			fmt.Fprintf(w, "              %s\n", surface.Escape(f.Evidence.Reason))
		}
	}
	if len(p.Scripts) > 0 {
		fmt.Fprintf(w, "  not run     install scripts of %s\n", surface.Escape(strings.Join(p.Scripts, ", ")))
	}
	if p.Before == nil || len(p.Changes) == 0 {
		showSurface(w, p.Surface)
	}
	showChanges(w, p.Changes)
}

// showSurface prints what a model is shown, one line an item.
func showSurface(w io.Writer, s *surface.Surface) {
	if s == nil {
		return
	}
	fmt.Fprintf(w, "  surface     %s\n", s.Digest())
	for _, line := range strings.Split(strings.TrimSuffix(s.Outline(), "\n"), "\n") {
		fmt.Fprintf(w, "    %s\n", line)
	}
	for _, warning := range surface.Warnings(s) {
		fmt.Fprintf(w, "  look at     %s\n", warning)
	}
}

func showChanges(w io.Writer, changes []surface.Change) {
	if len(changes) == 0 {
		return
	}
	fmt.Fprintln(w, "  changes")
	for _, line := range strings.Split(strings.TrimSuffix(surface.Text(changes), "\n"), "\n") {
		fmt.Fprintf(w, "    %s\n", line)
	}
}

// errNoTerminal says that nobody can be asked.
var errNoTerminal = errors.New("there is no terminal to ask at")

// ask puts a question to the person at the terminal; only yes is consent.
func (a *app) ask(question string) (bool, error) {
	if !term.IsTerminal(int(a.stdin.Fd())) {
		return false, errNoTerminal
	}
	fmt.Fprintf(a.stderr, "\n%s [y/N] ", question)
	answer, err := bufio.NewReader(a.stdin).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes", nil
}

func (a *app) run() *cobra.Command {
	var (
		dir, logFile string
		o            hallmark.RunOptions
	)
	c := &cobra.Command{
		Use:   "run NAME [-- arguments]",
		Short: "Start a locked server from verified bytes and guard its surface",
		Long: `Verify everything that the lock claims of a server, start it from the bytes that were
verified, and relay between it and the MCP client on standard input and output. What
the server shows is compared with the approved surface before any call is let through;
what differs is withheld.`,
		Args: args(func(c *cobra.Command, names []string) error {
			dash := c.ArgsLenAtDash()
			if len(names) == 0 || dash == 0 || dash < 0 && len(names) > 1 || dash > 1 {
				return errors.New("takes one NAME; arguments for the server follow '--'")
			}
			return nil
		}),
		RunE: func(c *cobra.Command, names []string) error {
			h, err := a.host(dir)
			if err != nil {
				return err
			}
			o.Arguments = names[1:]
			o.Stdin, o.Stdout, o.Stderr = a.stdin, a.stdout, a.stderr
			o.Judged = func(v policy.Verdict) {
				a.bars.stop()
				for _, f := range v.Warnings() {
					fmt.Fprintf(a.stderr, "%s: warning: %s\n", a.name, f.Evidence.Title())
				}
			}
			if logFile != "" {
				f, err := os.OpenFile(logFile, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
				if err != nil {
					return err
				}
				defer f.Close()
				o.Log = f
			}
			code, err := hallmark.Run(c.Context(), h, dir, names[0], o)
			if err != nil {
				return err
			}
			if code != 0 {
				return serverExit(code)
			}
			return nil
		},
	}
	projectFlag(c, &dir)
	c.Flags().BoolVar(&o.TrustLock, "trust-lock", false, "accept the lock of this checkout without this machine's approval")
	c.Flags().BoolVar(&o.Settings.RequireLock, "require-lock", false, "refuse a server that is not locked")
	c.Flags().StringVar(&logFile, "log", "", "append one JSON line for each call to `file`")
	return c
}

func (a *app) review() *cobra.Command {
	var dir, approve string
	var asJSON bool
	c := &cobra.Command{
		Use:   "review NAME",
		Short: "Show what a server changed since it was approved, and approve it",
		Long: `Show the differences between the approved surface of a server and the one that a guard
saw last, or, on a machine that has not approved the lock yet, the whole entry; and ask
for approval. In scripts --approve takes the digest of the surface that was shown.`,
		Args: args(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, names []string) error {
			h, err := a.host(dir)
			if err != nil {
				return err
			}
			var o hallmark.ReviewOptions
			if approve != "" {
				if o.Approve, err = digest.Parse(approve); err != nil {
					return usage(c, err)
				}
			}
			o.Confirm = func(r *hallmark.Reviewed) (bool, error) {
				if !asJSON {
					a.showReview(a.stderr, r)
				}
				ok, err := a.ask("Approve this?")
				if errors.Is(err, errNoTerminal) {
					return false, nil
				}
				return ok, err
			}
			r, err := hallmark.Review(c.Context(), h, dir, names[0], o)
			if r == nil {
				r = &hallmark.Reviewed{}
			}
			if asJSON {
				result := struct {
					outcome
					Surface digest.Digest    `json:"surface"`
					Changes []surface.Change `json:"changes"`
				}{outcome: outcomeOf(r.Verdict, err), Changes: r.Changes}
				if r.Surface != nil {
					result.Surface = r.Surface.Digest()
				}
				return a.json(result, err)
			}
			switch {
			case err != nil:
				return err
			case r.Clean:
				fmt.Fprintf(a.stderr, "%s: %s: nothing to approve\n", a.name, r.Name)
			default:
				fmt.Fprintf(a.stderr, "%s: %s is approved\n", a.name, r.Name)
			}
			return nil
		},
	}
	projectFlag(c, &dir)
	c.Flags().StringVar(&approve, "approve", "", "approve the surface with this `digest`")
	c.Flags().BoolVar(&asJSON, "json", false, "print the changes as one JSON document")
	return c
}

func (a *app) showReview(w io.Writer, r *hallmark.Reviewed) {
	fmt.Fprintf(w, "\n%s\n", r.Name)
	fmt.Fprintf(w, "  runs        %s\n", surface.Escape(r.Entry.Ref))
	if r.Note == nil {
		fmt.Fprintf(w, "  declared    %s\n", surface.Escape(strings.Join(append([]string{r.Entry.Launch.Command + r.Entry.Launch.Server}, r.Entry.Launch.Arguments...), " ")))
		showSurface(w, r.Surface)
		return
	}
	fmt.Fprintf(w, "  surface     %s\n", r.Surface.Digest())
	showChanges(w, r.Changes)
}

func (a *app) check() *cobra.Command {
	var dir string
	var asJSON bool
	c := &cobra.Command{
		Use:   "check",
		Short: "Verify the whole lock without starting anything",
		Long: `Verify that every server is declared as it was locked, that the files beside the lock,
executables and trees in the store are those that were locked, and report drift that
a guard saw. Nothing is started and nothing is fetched.`,
		Args: args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			h, err := a.host(dir)
			if err != nil {
				return err
			}
			verdict, err := hallmark.Check(c.Context(), h, dir)
			if err == nil {
				err = verdict.Err()
			}
			if asJSON {
				return a.json(outcomeOf(verdict, err), err)
			}
			return errors.Join(report(a.stdout, verdict), err)
		},
	}
	projectFlag(c, &dir)
	c.Flags().BoolVar(&asJSON, "json", false, "print the evidence as one JSON document")
	return c
}
