package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/hallmark-mcp/hallmark"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/policy"
)

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

// bound is consent to what has the digest that was approved, and to nothing else.
func bound(approved, shown digest.Digest) hallmark.Consent {
	if evidence.Same(approved, shown) {
		return hallmark.Given
	}
	return hallmark.No
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
