package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hallmark-mcp/hallmark/cmd/internal/app"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/kind"
	"github.com/hallmark-mcp/hallmark/internal/pin"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

// consentFlags say how consent to new entries of the lock is given.
type consentFlags struct {
	yes, start       bool
	approve, missing string
	approved         digest.Digest
	asked            *pin.Pinned // whose bytes were shown when it was asked whether to start it
}

func (f *consentFlags) register(c *cobra.Command) {
	c.Flags().BoolVar(&f.yes, "yes", false,
		"consent without being asked; not to another surface of the same bytes, and not to ask hosts that files of "+
			"the checkout name (--allow-host)")
	c.Flags().BoolVar(&f.start, "start", false,
		"start the servers, or ask those behind a URL, to see what they show without being asked; whether to lock "+
			"that is asked")
	c.Flags().StringVar(&f.approve, "approve", "",
		"consent to lock exactly what was shown with this `digest`; to start it, to see whether that is what it "+
			"shows, --start consents")
	c.Flags().StringVar(&f.missing, "missing-hashes", "",
		"what a record without hashes does, as `rule`: allow, warn or refuse (default warn)")
}

// options checks the flags and copies their values to o.
func (f *consentFlags) options(c *cobra.Command, o *pin.Options) (err error) {
	switch o.Settings.MissingHashes = policy.Missing(f.missing); o.Settings.MissingHashes {
	case policy.MissingDefault, policy.MissingAllow, policy.MissingWarn, policy.MissingRefuse:
	default:
		return app.Usage(c, errors.New("--missing-hashes is allow, warn or refuse"))
	}
	if f.approve != "" {
		if f.approved, err = digest.Parse(f.approve); err != nil {
			return app.Usage(c, err)
		}
	}
	return nil
}

// ask has o ask before anything is sent, started and written. show prints what is written of a server, and moves what
// of it is another version than before it is started; nil is nothing.
func (f *consentFlags) ask(ctx context.Context, a *app.App, h *host.Host, o *pin.Options,
	show, moves func(io.Writer, *pin.Pinned)) {
	o.Confirm = f.askConsent(ctx, a, show)
	o.Begin = f.askBeforeSending(ctx, a, h)
	o.Start = f.askBeforeStart(ctx, a, moves)
}

// askConsent returns a function that shows what would be locked and gets the answer.
func (f *consentFlags) askConsent(ctx context.Context, a *app.App,
	show func(io.Writer, *pin.Pinned)) func(*pin.Pinned) (host.Consent, error) {
	return func(p *pin.Pinned) (host.Consent, error) {
		a.Bars.Stop()
		if f.asked == p {
			show = func(w io.Writer, p *pin.Pinned) {
				fmt.Fprintf(w, "\n%s\n", p.Name)
				showJudged(a, w, p)
			}
		}
		asks := f.approved.IsZero() && !f.yes
		if err := showPaged(ctx, a, asks, func(w io.Writer) { show(w, p) }); err != nil {
			return host.NoConsent, err
		}
		switch {
		case !f.approved.IsZero():
			return consentTo(f.approved, p.Consent()), nil
		case f.yes:
			return host.StandingConsent, nil
		}
		if isNewSurface(p) {
			if err := pageSurface(ctx, a, p.Name, p.Surface); err != nil {
				return host.NoConsent, err
			}
		}
		return a.Ask(ctx, "Lock this?")
	}
}

// showPaged prints what show writes, a screen at a time if a person at a terminal is asked about it.
func showPaged(ctx context.Context, a *app.App, asks bool, show func(io.Writer)) error {
	if !asks || !a.HasTerminal() {
		show(a.Stderr)
		return nil
	}
	var text strings.Builder
	to := &screen{Writer: &text}
	to.columns, to.colours = terminalOf(a.Stderr)
	show(to)
	return a.Page(ctx, text.String())
}

// askBeforeStart returns a function that asks before a server is started to capture its surface.
// --approve does not answer that question: its digest includes the surface, so it is known only
// after the start. more prints what else is known of a server by then; may be nil.
func (f *consentFlags) askBeforeStart(ctx context.Context, a *app.App,
	more func(io.Writer, *pin.Pinned)) func(*pin.Pinned) (bool, error) {
	return func(p *pin.Pinned) (bool, error) {
		if f.yes || f.start {
			return true, nil
		}
		a.Bars.Stop()
		f.asked = p
		if err := showPaged(ctx, a, true, func(w io.Writer) {
			fmt.Fprintf(w, "\n%s\n", surface.Escape(p.Name))
			if more != nil {
				more(w, p)
			}
			showBytes(w, p)
			showWarnings(w, p)
		}); err != nil {
			return false, err
		}
		answer, err := a.Ask(ctx, "Start it, to see what it shows?")
		return answer == host.InformedConsent, err
	}
}

// askBeforeSending returns a function that asks before anything is sent to a server that is reached by its
// URL.
func (f *consentFlags) askBeforeSending(ctx context.Context, a *app.App,
	h *host.Host) func(project.Server) (bool, error) {
	return func(s project.Server) (bool, error) {
		if f.yes || f.start {
			return true, nil
		}
		a.Bars.Stop()
		fmt.Fprintf(a.Stderr, "\n%s\n  reached at  %s; what runs there is not verified\n", surface.Escape(s.Name),
			surface.Escape(s.URL))
		showPreview(a.Stderr, kind.PreviewOf(h, s))
		answer, err := a.Ask(ctx, "Ask it what it shows?")
		return answer == host.InformedConsent, err
	}
}

// showPreview prints what a server gets, and where it comes from.
func showPreview(w io.Writer, p kind.Preview) {
	line := func(what string, names []string) {
		if len(names) > 0 {
			fmt.Fprintf(w, "  %-11s %s\n", what, surface.Escape(strings.Join(names, ", ")))
		}
	}
	line("hosts", p.Hosts)
	line("gets", p.Environment)
	line("sent", p.Sends)
}

// consentTo returns informed consent if the shown digest is the approved one, else none.
func consentTo(approved, shown digest.Digest) host.Consent {
	if evidence.Same(approved, shown) {
		return host.InformedConsent
	}
	return host.NoConsent
}
