package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/hallmark-mcp/hallmark"
	"github.com/hallmark-mcp/hallmark/cmd/internal/program"
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
		dir           string
		asJSON, write bool
		scripts       []string
		consent       consentFlags
		from          hallmark.ClientFiles
		log           hallmark.LogOptions
	)
	c := &cobra.Command{
		Use:     "pin [NAME...]",
		Short:   "Lock the servers of hallmark.toml to exact bytes and surfaces",
		Example: "\nnotes\n--client claude-code --write-config",
		Long: `Resolve each server to exact artifacts, fetch and hash them, compare them with the
registry's record, start the server to see its surface, show all of it, and after
consent write hallmark.lock, hallmark.surfaces/NAME.json and, for a package, its
resolved dependencies in hallmark.closures/NAME.json.

With --client or --config the servers are those of an MCP client's configuration; they
are declared in hallmark.toml, and with --write-config the client starts them by
'hallmark run NAME' from then on. What its entries were is kept in FILE.hallmark beside
its file, for 'hallmark unpin'.`,
		ValidArgsFunction: completeServers,
		RunE: a.reporting(&asJSON, func(c *cobra.Command, names []string) error {
			h, err := a.host(dir)
			if err != nil {
				return err
			}
			o := hallmark.PinOptions{Log: log, From: from, WriteConfig: write, AllowScripts: scripts}
			if write && from.Client == "" && from.Config == "" {
				return usage(c, errors.New("--write-config needs --client or --config: whose configuration is meant"))
			}
			if from.Client != "" && from.Config != "" {
				return usage(c, errors.New("--client and --config exclude each other"))
			}
			o.From.Home, _ = os.UserHomeDir() // without one there are no user's files
			if err := a.logOptions(c, &o.Log); err != nil {
				return err
			}
			if err := consent.options(c, &o); err != nil {
				return err
			}
			o.Confirm = consent.asking(c.Context(), a, a.showPin)
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
				for _, file := range p.Clients {
					if write {
						fmt.Fprintf(a.stderr, "%s: %s starts it by 'hallmark run %s'\n", a.name, surface.Escape(file), p.Name)
					}
				}
			}
			return nil
		}),
	}
	projectFlag(c, &dir)
	consent.register(c)
	c.Flags().BoolVar(&asJSON, "json", false, "print the entries and the evidence as one JSON document")
	logKeyFlag(c, &log)
	c.Flags().StringSliceVar(&scripts, "allow-scripts", nil, "run the install scripts of this npm `package`, and lock that; may be repeated")
	clientFlags(c, &from)
	c.Flags().BoolVar(&write, "write-config", false, "let the client start the servers by hallmark run")
	return c
}

// consentFlags say how consent to new entries of the lock is given.
type consentFlags struct {
	yes              bool
	approve, missing string
	approved         digest.Digest
}

func (f *consentFlags) register(c *cobra.Command) {
	c.Flags().BoolVar(&f.yes, "yes", false, "consent without being asked; not to another surface of the same bytes")
	c.Flags().StringVar(&f.approve, "approve", "", "consent to exactly what was shown with this `digest`")
	c.Flags().StringVar(&f.missing, "missing-hashes", "", "what a record without hashes does, as `rule`: allow, warn or refuse (default warn)")
}

// options checks the flags and sets what of o they are about.
func (f *consentFlags) options(c *cobra.Command, o *hallmark.PinOptions) (err error) {
	switch o.Settings.MissingHashes = policy.Missing(f.missing); o.Settings.MissingHashes {
	case policy.MissingDefault, policy.MissingAllow, policy.MissingWarn, policy.MissingRefuse:
	default:
		return usage(c, errors.New("--missing-hashes is allow, warn or refuse"))
	}
	if f.approve != "" {
		if f.approved, err = digest.Parse(f.approve); err != nil {
			return usage(c, err)
		}
	}
	return nil
}

// asking shows what would be locked and gets the answer.
func (f *consentFlags) asking(ctx context.Context, a *app, show func(io.Writer, *hallmark.Pinned)) func(*hallmark.Pinned) (hallmark.Consent, error) {
	return func(p *hallmark.Pinned) (hallmark.Consent, error) {
		a.bars.stop()
		show(a.stderr, p)
		switch {
		case !f.approved.IsZero():
			return bound(f.approved, p.Consent()), nil
		case f.yes:
			return hallmark.Standing, nil
		}
		return a.ask(ctx, "Lock this?")
	}
}

// pinnedJSON is a server that was pinned, or would have been.
type pinnedJSON struct {
	Name     string              `json:"name"`
	Written  bool                `json:"written"`
	Consent  digest.Digest       `json:"consent"` // zero before there was anything to show
	Before   *project.ServerLock `json:"before,omitempty"`
	Entry    project.ServerLock  `json:"entry"`
	Runtime  *project.Runtime    `json:"runtime,omitempty"`
	Changes  []surface.Change    `json:"changes"`
	Clients  []string            `json:"clients,omitempty"` // files that start it by hallmark run now
	Findings []policy.Finding    `json:"findings"`
}

func pinnedServers(pinned []*hallmark.Pinned) []pinnedJSON {
	servers := []pinnedJSON{}
	for _, p := range pinned {
		s := pinnedJSON{p.Name, p.Written, digest.Digest{}, p.Before, p.Entry, p.Runtime, p.Changes, p.Clients, p.Verdict.Findings}
		if p.Surface != nil {
			s.Consent = p.Consent()
		}
		servers = append(servers, s)
	}
	return servers
}

func pinResult(pinned []*hallmark.Pinned, err error) any {
	return struct {
		outcome
		Servers []pinnedJSON `json:"servers"`
	}{outcomeOf(policy.Verdict{}, err), pinnedServers(pinned)}
}

// bound is consent to what has the digest that was approved, and to nothing else.
func bound(approved, shown digest.Digest) hallmark.Consent {
	if evidence.Same(approved, shown) {
		return hallmark.Given
	}
	return hallmark.No
}

// showPin prints all that consent is asked for.
func (a *app) showPin(w io.Writer, p *hallmark.Pinned) {
	fmt.Fprintf(w, "\n%s\n", p.Name)
	showEntry(w, p.Entry, p.Runtime)
	if len(p.Wanted) > 0 {
		fmt.Fprintf(w, "  not given   %s; declare those that it may have in 'variables'\n", surface.Escape(strings.Join(p.Wanted, " ")))
	}
	switch n := len(p.Packages); {
	case n > p.Verified:
		fmt.Fprintf(w, "  packages    %d, of which this platform needs %d, each verified\n", n, p.Verified)
	case n > 0:
		fmt.Fprintf(w, "  packages    %d, each verified\n", n)
	}
	const most = 20
	for i, ref := range p.Moved {
		if i == most {
			fmt.Fprintf(w, "  new         and %d more\n", len(p.Moved)-most)
			break
		}
		fmt.Fprintf(w, "  new         %s\n", surface.Escape(ref))
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
	if !p.Claimed.IsZero() && bound(p.Claimed, p.Entry.APISurface) != hallmark.Given {
		fmt.Fprintf(w, "  ALARM       its publisher says that it shows tools with api_surface %s\n", p.Claimed)
	}
	if p.Same {
		fmt.Fprintln(w, "  ALARM       the bytes are those that were approved, but they show another surface")
	}
	if p.Before == nil || len(p.Changes) == 0 {
		showSurface(w, p.Surface)
	}
	showChanges(w, p.Changes)
	fmt.Fprintf(w, "  consent     %s\n", p.Consent())
}

// showEntry prints what an entry of the lock starts, with what, and on whose word.
func showEntry(w io.Writer, e project.ServerLock, runtime *project.Runtime) {
	if e.Launch.URL == "" {
		declared := append([]string{e.Launch.Command + e.Launch.Server + e.Launch.Source}, e.Launch.Arguments...)
		fmt.Fprintf(w, "  declared    %s\n", surface.Escape(strings.Join(declared, " ")))
	}
	if e.Launch.URL != "" {
		fmt.Fprintf(w, "  reached at  %s; what runs there is not verified\n", surface.Escape(e.Launch.URL))
	}
	for _, name := range slices.Sorted(maps.Keys(e.Launch.Headers)) {
		fmt.Fprintf(w, "  sends it    %s: %s\n", surface.Escape(name), surface.Escape(e.Launch.Headers[name]))
	}
	for _, ref := range slices.Sorted(maps.Keys(e.Artifacts)) {
		fmt.Fprintf(w, "  runs        %s  %s\n", surface.Escape(ref), e.Artifacts[ref])
	}
	if e.Image != "" {
		fmt.Fprintf(w, "  tag         %s led there\n", surface.Escape(e.Image))
	}
	for _, platform := range slices.Sorted(maps.Keys(e.Platforms)) {
		fmt.Fprintf(w, "  for         %s  %s\n", surface.Escape(platform), e.Platforms[platform])
	}
	if e.Launch.Facet != "" {
		fmt.Fprintf(w, "  facet       %s\n", surface.Escape(e.Launch.Facet))
	}
	if e.Entry != "" {
		fmt.Fprintf(w, "  script      %s\n", surface.Escape(e.Entry))
	}
	if runtime != nil {
		by := "started by"
		if e.Source == "go" {
			by = "built by  "
		}
		fmt.Fprintf(w, "  %s  %s  %s\n", by, surface.Escape(runtime.Path), runtime.Digest)
	}
	if len(e.Arguments) > 0 {
		fmt.Fprintf(w, "  arguments   %s\n", surface.Escape(strings.Join(e.Arguments, " ")))
	}
	if len(e.Variables) > 0 {
		fmt.Fprintf(w, "  variables   %s\n", surface.Escape(strings.Join(e.Variables, " ")))
	}
	for _, name := range slices.Sorted(maps.Keys(e.Launch.Environment)) {
		fmt.Fprintf(w, "  environment %s=%s\n", surface.Escape(name), surface.Escape(e.Launch.Environment[name]))
	}
	if e.Launch.OnDrift != "withhold" {
		fmt.Fprintf(w, "  on drift    %s\n", e.Launch.OnDrift)
	}
	if e.Launch.Requests != "" {
		fmt.Fprintf(w, "  may ask     %s (requests of the server to its client)\n", e.Launch.Requests)
	}
	if e.Launch.Kinds != nil {
		fmt.Fprintf(w, "  watches     %s only\n", strings.Join(e.Launch.Kinds, " "))
	}
	if r := e.Record; r != nil {
		fmt.Fprintf(w, "  record      %s at %s\n", surface.Escape(r.Subject()), surface.Escape(r.Registry))
	}
	if e.Closure != nil {
		fmt.Fprintf(w, "  closure     %s\n", e.Closure.Lock)
		if len(e.Closure.Scripts) > 0 {
			fmt.Fprintf(w, "  run         install scripts of %s\n", surface.Escape(strings.Join(e.Closure.Scripts, ", ")))
		}
	}
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

// ask puts a question to the person at the terminal; only yes is consent, and without a
// terminal there is none.
func (a *app) ask(ctx context.Context, question string) (hallmark.Consent, error) {
	if !term.IsTerminal(int(a.stdin.Fd())) {
		return hallmark.No, nil
	}
	answer, err := a.answer(ctx, "\n"+question+" [y/N] ")
	if err == nil && (answer == "y" || answer == "yes") {
		return hallmark.Given, nil
	}
	return hallmark.No, err
}

// answer is what the person at the terminal answers to a question, in lower case; "" at the
// end of the input.
func (a *app) answer(ctx context.Context, question string) (string, error) {
	fmt.Fprint(a.stderr, question)
	type line struct {
		text string
		err  error
	}
	read := make(chan line, 1)
	go func() { // left behind by Ctrl-C, which ends the process
		text, err := bufio.NewReader(a.stdin).ReadString('\n')
		read <- line{text, err}
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(a.stderr)
		return "", ctx.Err()
	case l := <-read:
		if l.err != nil && !errors.Is(l.err, io.EOF) {
			return "", l.err
		}
		return strings.ToLower(strings.TrimSpace(l.text)), nil
	}
}

// What a start leaves is not worth collecting before the server has answered: that would be a
// sixth of the work of starting a small one.
const (
	startPercent = 400             // of GOGC: the heap is collected at 16 MiB, not at 4
	startTime    = 2 * time.Second // after that it is as usual
)

// spareCollector sets the garbage collector for the start of a server, unless the user did.
func spareCollector() {
	if os.Getenv("GOGC") != "" {
		return
	}
	usual := debug.SetGCPercent(startPercent)
	time.AfterFunc(startTime, func() { debug.SetGCPercent(usual) })
}

func (a *app) run() *cobra.Command {
	var (
		dir, logFile string
		o            hallmark.RunOptions
		log          hallmark.LogOptions
	)
	c := &cobra.Command{
		Use:     "run NAME [-- arguments]",
		Short:   "Start a locked server from verified bytes, and guard it",
		Example: "notes\nnotes --log calls.jsonl -- --verbose",
		Long: `Verify everything that the lock claims of a server, start it from the bytes that were
verified, and relay between it and the MCP client on standard input and output. What
the server shows is compared with the approved surface before any call is let through;
what differs is withheld. A server of type "http" is reached at its URL, of which nothing but
what it shows can be verified.`,
		Args: args(func(c *cobra.Command, names []string) error {
			dash := c.ArgsLenAtDash()
			if len(names) == 0 || dash == 0 || dash < 0 && len(names) > 1 || dash > 1 {
				return errors.New("takes one NAME; arguments for the server follow '--'")
			}
			return nil
		}),
		ValidArgsFunction: completeServers,
		RunE: func(c *cobra.Command, names []string) error {
			spareCollector()
			h, err := a.host(dir)
			if err != nil {
				return err
			}
			if err := a.logOptions(c, &log); err != nil {
				return err
			}
			o.LogKey = log.Key // nobody is asked: standard input is the client's
			o.Arguments = names[1:]
			o.Stdin, o.Stdout, o.Stderr = a.stdin, a.stdout, a.stderr
			o.Judged = func(v policy.Verdict) {
				a.bars.stop()
				for _, f := range v.Warnings() {
					fmt.Fprintf(a.stderr, "%s: warning: %s\n", a.name, f.Evidence.Title())
				}
				if v.Err() == nil {
					program.ForClients(a.name, names[0])
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
				return program.ServerExit(code)
			}
			return nil
		},
	}
	projectFlag(c, &dir)
	logKeyFlag(c, &log)
	c.Flags().BoolVar(&o.TrustLock, "trust-lock", false, "accept the lock of this checkout without this machine's approval")
	c.Flags().BoolVar(&o.Settings.RequireLock, "require-lock", false, "refuse a server that is not locked")
	c.Flags().StringVar(&logFile, "log", "", "append one JSON line for each call to `file`")
	return c
}

func (a *app) review() *cobra.Command {
	var dir, approve string
	var asJSON bool
	var o hallmark.ReviewOptions
	c := &cobra.Command{
		Use:     "review NAME",
		Short:   "Show what changed since a server was approved, and approve it",
		Example: "notes\nnotes --item tool:add_note\nnotes --dismiss",
		Long: `Show the differences between the approved surface of a server and the one that a guard
saw last, and ask for each item whether it is approved; or, on a machine that has not
approved the lock yet, show the whole entry and ask once. What is refused stays withheld.

In scripts --approve takes the digest that was shown as "consent", of all items or of
those that --item names.`,
		Args:              args(cobra.ExactArgs(1)),
		ValidArgsFunction: completeServers,
		RunE: a.reporting(&asJSON, func(c *cobra.Command, names []string) error {
			h, err := a.host(dir)
			if err != nil {
				return err
			}
			if approve != "" {
				if o.Approve, err = digest.Parse(approve); err != nil {
					return usage(c, err)
				}
			}
			chosen := false
			o.Choose = func(r *hallmark.Reviewed) (items []string, err error) {
				if asJSON || len(r.Items) < 2 || !term.IsTerminal(int(a.stdin.Fd())) {
					return nil, nil // one question is enough
				}
				chosen = true
				a.showReview(a.stderr, r)
				return a.chooseItems(c.Context(), r.Items)
			}
			o.Confirm = func(r *hallmark.Reviewed) (hallmark.Consent, error) {
				switch {
				case chosen && len(r.Refused) == len(r.Items):
					return hallmark.No, nil
				case chosen: // each was asked for
					fmt.Fprintf(a.stderr, "\n  consent     %s\n", r.Consent())
					return hallmark.Given, nil
				case !asJSON:
					a.showReview(a.stderr, r)
				}
				return a.ask(c.Context(), "Approve this?")
			}
			r, err := hallmark.Review(c.Context(), h, dir, names[0], o)
			if r == nil {
				r = &hallmark.Reviewed{}
			}
			if asJSON {
				result := struct {
					outcome
					Consent digest.Digest      `json:"consent"`
					Entry   project.ServerLock `json:"entry"`
					Runtime *project.Runtime   `json:"runtime,omitempty"`
					Changes []surface.Change   `json:"changes"`
					Refused []string           `json:"refused,omitempty"` // items that drifted and are not among them
				}{outcomeOf(r.Verdict, err), digest.Digest{}, r.Entry, r.Runtime, r.Changes, r.Refused}
				if r.Surface != nil {
					result.Consent = r.Consent()
				}
				return a.json(result, err)
			}
			switch {
			case err != nil:
				return err
			case r.Clean:
				fmt.Fprintf(a.stderr, "%s: %s: nothing to approve\n", a.name, r.Name)
			case o.Dismiss:
				fmt.Fprintf(a.stderr, "%s: %s: what was seen is not approved, and forgotten\n", a.name, r.Name)
			case len(r.Refused) > 0:
				fmt.Fprintf(a.stderr, "%s: %s: %d of %d items are approved; withheld: %s\n", a.name, r.Name, len(r.Items)-len(r.Refused), len(r.Items),
					surface.Escape(strings.Join(r.Refused, ", ")))
			default:
				fmt.Fprintf(a.stderr, "%s: %s is approved\n", a.name, r.Name)
			}
			return nil
		}),
	}
	projectFlag(c, &dir)
	c.Flags().StringVar(&approve, "approve", "", "approve exactly what was shown with this `digest`")
	c.Flags().StringArrayVar(&o.Items, "item", nil, "approve only this `item` of what drifted, as tool:NAME or instructions; may be given several times")
	c.Flags().BoolVar(&o.Dismiss, "dismiss", false, "approve nothing, and forget the drift that was seen")
	c.Flags().BoolVar(&asJSON, "json", false, "print the changes as one JSON document")
	return c
}

// chooseItems asks for each item of a drift whether it is approved.
func (a *app) chooseItems(ctx context.Context, items []string) ([]string, error) {
	fmt.Fprint(a.stderr, "\nApprove each? y: yes; n: no; a: this and all that follow; q: none of those that follow.\n")
	approved := []string{}
	for i, item := range items {
		answer, err := a.answer(ctx, fmt.Sprintf("  %s [y/N/a/q] ", surface.Escape(item)))
		if err != nil {
			return nil, err
		}
		switch answer {
		case "y", "yes":
			approved = append(approved, item)
		case "a", "all":
			return append(approved, items[i:]...), nil
		case "q", "quit":
			return approved, nil
		}
	}
	return approved, nil
}

func (a *app) showReview(w io.Writer, r *hallmark.Reviewed) {
	fmt.Fprintf(w, "\n%s\n", r.Name)
	showEntry(w, r.Entry, r.Runtime)
	if r.Approved != nil {
		fmt.Fprintf(w, "  before      %s  %s\n", surface.Escape(r.Approved.Path), r.Approved.Digest)
	}
	if r.Note == nil {
		showSurface(w, r.Surface)
	} else {
		fmt.Fprintf(w, "  seen        %s\n", r.Note.At.Format("2006-01-02 15:04:05Z"))
		showChanges(w, r.Changes)
		for _, warning := range surface.Warnings(r.Surface) {
			fmt.Fprintf(w, "  look at     %s\n", warning)
		}
	}
	fmt.Fprintf(w, "  consent     %s\n", r.Consent())
}
