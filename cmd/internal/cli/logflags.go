package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/hallmark-mcp/hallmark"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/surface"
)

// logKeyFlag adds --log-key.
func logKeyFlag(c *cobra.Command, o *hallmark.LogOptions) {
	c.Flags().StringVar(&o.Key, "log-key", "", "verifier `key` of the registry's log, as its operator tells it (NAME+ID+BASE64)")
}

// logOptions completes what the flags say: a person at a terminal may be asked.
func (a *app) logOptions(c *cobra.Command, o *hallmark.LogOptions) error {
	if o.Key != "" {
		if _, err := ledger.ParseVerifier(o.Key); err != nil {
			return usage(c, err)
		}
	}
	if term.IsTerminal(int(a.stdin.Fd())) {
		o.Ask = func(registry, key string) (hallmark.Consent, error) { return a.askLog(c.Context(), registry, key) }
	}
	return nil
}

// askLog asks about the key of a log that this machine sees for the first time.
func (a *app) askLog(ctx context.Context, registry, key string) (hallmark.Consent, error) {
	a.bars.stop()
	fmt.Fprintf(a.stderr, "\nThe registry %s has a log, which this machine sees for the first time.\n", surface.Escape(registry))
	if v, err := ledger.ParseVerifier(key); err == nil {
		fmt.Fprintf(a.stderr, "  origin      %s\n", surface.Escape(v.Name()))
	}
	fmt.Fprintf(a.stderr, "  key         %s\n", surface.Escape(key))
	fmt.Fprintf(a.stderr, "Compare the key with what the registry's operator tells elsewhere.\n")
	return a.ask(ctx, "Is it the right one?")
}
