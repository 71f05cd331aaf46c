package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/hallmark-mcp/hallmark/cmd/internal/app"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/check"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/launch"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

const reviewHelp = `Show the differences between the approved surface of a server and the one that a guard
saw last, and ask for each item whether it is approved; or, on a machine that has not
approved the lock yet, show the whole entry and ask once. What is refused stays withheld.
Without NAME all servers are shown whose entries or interpreters this machine has not approved
yet, as after a clone, a pull or an update of Node, and one question is about all of them.
Nothing approves other bytes than those that are locked: if files of a server on this machine
changed, that is said with exit code 3, and 'hallmark pin NAME' locks them anew.
Of a server that needs no lock entry the launch line is shown and approved. Arguments after '--'
are approved for 'hallmark run NAME --'.

In scripts --approve takes the digest that was shown as "consent", of all items or of
those that --item names.`

func reviewCommand(a *app.App) *cobra.Command {
	r := &reviewer{a: a}
	c := &cobra.Command{
		Use:               "review [NAME [-- arguments]]",
		Short:             "Show what changed since a server was approved, and approve it",
		Example:           "\nnotes\nnotes --item tool:add_note\nnotes --dismiss\nnotes -- --root docs",
		Long:              reviewHelp,
		Args:              app.Args(r.checkArguments),
		ValidArgsFunction: completeServers,
		RunE:              a.Reporting(&r.asJSON, r.run),
	}
	addProjectFlag(a, c, &r.dir)
	a.AllowFlags(c)
	c.Flags().StringVar(&r.approve, "approve", "", "approve exactly what was shown with this `digest`")
	c.Flags().StringArrayVar(&r.o.Items, "item", nil,
		"approve only this `item` of what drifted, as tool:NAME or instructions; may be given several times")
	c.Flags().BoolVar(&r.o.Unlocked, "unlocked", false,
		"approve the launch line of a server that is not locked, for 'hallmark run --unlocked'")
	c.Flags().BoolVar(&r.o.Dismiss, "dismiss", false, "approve nothing, and forget the drift that was seen")
	c.Flags().BoolVar(&r.asJSON, "json", false, "print the changes as one JSON document")
	return c
}

// reviewer is one call of review.
type reviewer struct {
	a            *app.App
	dir, approve string
	asJSON       bool
	o            launch.ReviewOptions
	chosen       bool // each item was asked for
}

func (r *reviewer) checkArguments(c *cobra.Command, names []string) error {
	dash := c.ArgsLenAtDash()
	if dash == 0 || dash < 0 && len(names) > 1 || dash > 1 {
		return errors.New("takes one NAME; arguments for 'hallmark run' follow '--'")
	}
	if len(names) == 0 && (r.o.Items != nil || r.o.Dismiss || r.o.Unlocked) {
		return errors.New("--item, --dismiss and --unlocked are about one server: name it")
	}
	return nil
}

func (r *reviewer) run(c *cobra.Command, names []string) error {
	h, err := r.a.Host(r.dir)
	if err != nil {
		return err
	}
	if r.approve != "" {
		if r.o.Approve, err = digest.Parse(r.approve); err != nil {
			return app.Usage(c, err)
		}
	}
	ctx := c.Context()
	if len(names) == 0 {
		return reviewWaiting(ctx, r.a, h, r.dir, r.o.Approve, r.asJSON)
	}
	r.o.Arguments = names[1:]
	r.o.Choose = func(seen *launch.Reviewed) ([]string, error) { return r.choose(ctx, seen) }
	r.o.Confirm = func(seen *launch.Reviewed) (host.Consent, error) { return r.confirm(ctx, seen) }
	seen, err := launch.Review(ctx, h, r.dir, names[0], r.o)
	seen = cmp.Or(seen, &launch.Reviewed{})
	if err == nil && seen.Clean {
		err = check.VerifyFiles(ctx, h, r.dir, seen.Name)
	}
	if r.asJSON {
		return r.a.WriteJSON(reviewJSON(seen, err), err)
	}
	return r.report(seen, err)
}

// choose asks for each item of what drifted, at a terminal.
func (r *reviewer) choose(ctx context.Context, seen *launch.Reviewed) (items []string, err error) {
	if r.asJSON || len(seen.Items) < 2 || !term.IsTerminal(int(r.a.Stdin.Fd())) {
		return nil, nil // one question is enough
	}
	r.chosen = true
	showReview(r.a, r.a.Stderr, seen)
	return chooseItems(ctx, r.a, seen.Items)
}

// confirm shows what is approved, if it was not chosen item by item, and asks.
func (r *reviewer) confirm(ctx context.Context, seen *launch.Reviewed) (host.Consent, error) {
	switch {
	case r.chosen && len(seen.Refused) == len(seen.Items):
		return host.NoConsent, nil
	case r.chosen: // each was asked for
		fmt.Fprintln(r.a.Stderr)
		showConsent(r.a, r.a.Stderr, seen.Consent())
		return host.InformedConsent, nil
	case !r.asJSON:
		showReview(r.a, r.a.Stderr, seen)
	}
	if seen.Note == nil && !r.asJSON {
		if err := pageSurface(ctx, r.a, seen.Name, seen.Surface); err != nil {
			return host.NoConsent, err
		}
	}
	return r.a.Ask(ctx, "Approve this?")
}

func reviewJSON(r *launch.Reviewed, err error) any {
	result := struct {
		app.Outcome
		Consent digest.Digest       `json:"consent"`
		Entry   project.ServerLock  `json:"entry"`
		Launch  *project.LaunchLock `json:"launch,omitempty"` // of a server that is not locked
		Extra   []string            `json:"extra_arguments,omitempty"`
		Runtime *project.Runtime    `json:"runtime,omitempty"`
		Changes []surface.Change    `json:"changes"`
		Weaker  []project.Weakening `json:"weaker,omitempty"`
		Refused []string            `json:"refused,omitempty"` // items that drifted and are not among them
	}{app.OutcomeOf(r.Verdict, err), digest.Digest{}, r.Entry, nil, r.Extra, r.Runtime, r.Changes, r.Weaker,
		r.Refused}
	if r.Surface != nil || r.Unlocked != nil {
		result.Consent = r.Consent()
	}
	if r.Unlocked != nil {
		launch := r.Unlocked.Launch()
		result.Launch = &launch
	}
	return result
}

// report says what is approved now.
func (r *reviewer) report(seen *launch.Reviewed, err error) error {
	for _, key := range seen.Absent {
		r.a.Note("%s: %s: %s; clients of another kind may be", seen.Name, surface.Escape(key),
			"approved, and not shown to the client at "+seen.Note.At.Format("2006-01-02 15:04:05Z"))
	}
	if seen.Clean {
		showVarying(r.a.Stderr, seen.Varying())
	}
	switch {
	case err != nil:
		return err
	case seen.Clean:
		r.a.Note("%s: nothing to approve", seen.Name)
	case r.o.Dismiss:
		r.a.Note("%s: what was seen is not approved, and forgotten", seen.Name)
	case len(seen.Refused) > 0:
		r.a.Note("%s: %d of %d items are approved; withheld: %s", seen.Name, len(seen.Items)-len(seen.Refused),
			len(seen.Items), surface.Escape(strings.Join(seen.Refused, ", ")))
	default:
		r.a.Note("%s is approved", seen.Name)
	}
	return nil
}

// reviewWaiting shows all servers that wait for approval, and asks once.
func reviewWaiting(ctx context.Context, a *app.App, h *host.Host, dir string, approve digest.Digest,
	asJSON bool) error {
	w, err := launch.ReviewWaiting(ctx, h, dir, launch.WaitingOptions{Approve: approve,
		Confirm: func(w *launch.Waiting) (host.Consent, error) {
			if !asJSON {
				showWaiting(a, a.Stderr, w)
			}
			for _, r := range w.Servers {
				if asJSON || r.EntryApproved {
					continue
				}
				if err := pageSurface(ctx, a, r.Name, r.Surface); err != nil {
					return host.NoConsent, err
				}
			}
			return a.Ask(ctx, "Approve all of this?")
		}})
	if len(w.Approved) > 0 {
		err = errors.Join(err, check.VerifyFiles(ctx, h, dir, w.Approved...))
	}
	if asJSON {
		result := struct {
			app.Outcome
			Consent digest.Digest    `json:"consent"`
			Servers []waitingOutcome `json:"servers"`
			Drifted []string         `json:"drifted"` // reviewed one by one
		}{app.OutcomeOf(w.Verdict, err), digest.Digest{}, []waitingOutcome{}, append([]string{}, w.Drifted...)}
		for _, r := range w.Servers {
			result.Servers = append(result.Servers, waitingOutcome{r.Name, r.Consent(), r.Entry, r.Runtime, r.Weaker})
		}
		if len(w.Servers) > 0 {
			result.Consent = w.Consent()
		}
		return a.WriteJSON(result, err)
	}
	for _, name := range w.Drifted {
		a.Note("%s drifted; 'hallmark review %[1]s' shows what changed", name)
	}
	switch {
	case err != nil:
		return err
	case len(w.Servers) == 0 && len(w.Drifted) == 0:
		a.Note("nothing to approve")
	case len(w.Servers) > 0:
		a.Note("approved: %s", strings.Join(namesOf(w.Servers), ", "))
	}
	return nil
}

// waitingOutcome is a server that waits for approval, as it is printed.
type waitingOutcome struct {
	Name    string              `json:"name"`
	Consent digest.Digest       `json:"consent"` // to this server alone
	Entry   project.ServerLock  `json:"entry"`
	Runtime *project.Runtime    `json:"runtime,omitempty"`
	Weaker  []project.Weakening `json:"weaker,omitempty"`
}

func namesOf(all []*launch.Reviewed) (names []string) {
	for _, r := range all {
		names = append(names, r.Name)
	}
	return names
}

// showWaiting shows all that waits: each new entry, and each new interpreter once, with the servers that it starts.
func showWaiting(a *app.App, w io.Writer, waiting *launch.Waiting) {
	var updated []*launch.Reviewed
	for _, r := range waiting.Servers {
		if r.EntryApproved && r.Runtime != nil && r.Approved != nil && len(r.Weaker) == 0 {
			updated = append(updated, r)
			continue
		}
		showReview(a, w, r)
	}
	for len(updated) > 0 {
		first := updated[0]
		same := func(r *launch.Reviewed) bool {
			return sameRuntime(r.Runtime, first.Runtime) && sameRuntime(r.Approved, first.Approved)
		}
		var of []*launch.Reviewed
		for _, r := range updated {
			if same(r) {
				of = append(of, r)
			}
		}
		updated = slices.DeleteFunc(updated, same)
		fmt.Fprintf(w, "\n%s\n  started by  %s  %s\n  before      %s  %s\n", strings.Join(namesOf(of), ", "),
			surface.Escape(first.Runtime.Path), formatDigest(w, first.Runtime.Digest),
			surface.Escape(first.Approved.Path), formatDigest(w, first.Approved.Digest))
	}
	all := "all"
	for _, h := range waiting.Held {
		all = "all that is not held back"
		fmt.Fprintf(w, "\n%s\n  held back   %s\n", h.Name, headlineOf(h.Err))
	}
	if columns, _ := terminalOf(w); columns == 0 || !a.HasTerminal() {
		fmt.Fprintf(w, "\n  consent     %s  (%s)\n", waiting.Consent(), all)
	}
}

// headlineOf says in one line why a server is held back. The error itself follows the question.
func headlineOf(err error) string {
	if refusal := new(policy.Refusal); errors.As(err, &refusal) {
		return refusal.Verdict.Headline()
	}
	text, _, _ := strings.Cut(err.Error(), "\n")
	return text
}

func sameRuntime(a, b *project.Runtime) bool {
	return a.Path == b.Path && evidence.Same(a.Digest, b.Digest)
}

// chooseItems asks for each drifted item whether it is approved.
func chooseItems(ctx context.Context, a *app.App, items []string) ([]string, error) {
	fmt.Fprint(a.Stderr, "\nApprove each? y: yes; n: no; a: this and all that follow; q: none of those that follow.\n")
	approved := []string{}
	for i, item := range items {
		answer, err := a.ReadAnswer(ctx, fmt.Sprintf("  %s [y/N/a/q] ", surface.Escape(item)))
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

func showReview(a *app.App, w io.Writer, r *launch.Reviewed) {
	fmt.Fprintf(w, "\n%s\n", r.Name)
	defer func() {
		if len(r.Extra) > 0 {
			fmt.Fprintf(w, "  with        %s  (arguments after --)\n", surface.Escape(fmt.Sprintf("%q", r.Extra)))
		}
		showConsent(a, w, r.Consent())
	}()
	if r.Unlocked != nil {
		showEntry(w, project.ServerLock{Launch: r.Unlocked.Launch(), Arguments: r.Unlocked.Arguments,
			Variables: r.Unlocked.Variables}, r.Runtime)
		showWeaker(w, r.Weaker)
		fmt.Fprintln(w,
			"  not locked  neither its bytes nor what it shows is compared with anything, but for a verify block")
		fmt.Fprintln(w,
			"  covers      the launch line and its interpreter; what a script loads besides itself may change, with "+
				"a verify block too")
		return
	}
	showEntry(w, r.Entry, r.Runtime)
	showWeaker(w, r.Weaker)
	if r.Approved != nil {
		fmt.Fprintf(w, "  before      %s  %s\n", surface.Escape(r.Approved.Path), formatDigest(w, r.Approved.Digest))
	}
	showVarying(w, r.Varying())
	if r.Note == nil {
		showSurface(a, w, r.Surface, "'hallmark surface show "+r.Name+"'")
	} else {
		fmt.Fprintf(w, "  seen        %s\n", r.Note.At.Format("2006-01-02 15:04:05Z"))
		showChanges(w, r.Changes)
		for _, warning := range surface.Warnings(r.Surface) {
			fmt.Fprintf(w, "  look at     %s\n", warning)
		}
	}
}
