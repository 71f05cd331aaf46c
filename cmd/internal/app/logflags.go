package app

import (
	"context"
	"fmt"
	"sync"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/surface"
)

// LogKeyFlag adds --log-key.
func LogKeyFlag(c *cobra.Command, o *trail.Options) {
	c.Flags().StringVar(&o.Key, "log-key", "",
		"verifier `key` of the registry's log, as its operator tells it (NAME+ID+BASE64)")
}

// LogOptions completes the options of the flags: it lets a person at a terminal be asked.
func (a *App) LogOptions(c *cobra.Command, o *trail.Options) error {
	if o.Key != "" {
		if _, err := ledger.ParseVerifier(o.Key); err != nil {
			return Usage(c, err)
		}
	}
	if term.IsTerminal(int(a.Stdin.Fd())) {
		o.Ask = func(registry, key string) (host.Consent, error) { return a.askAboutLog(c.Context(), registry, key) }
	}
	return nil
}

// answered are the answers about keys of logs. A command reads some logs more than once, and asks about each key once.
type answered struct {
	asking sync.Mutex // also guards said
	said   map[[2]string]host.Consent
}

// askAboutLog asks about the key of a log that this machine sees for the first time.
func (a *App) askAboutLog(ctx context.Context, registry, key string) (host.Consent, error) {
	a.logs.asking.Lock()
	defer a.logs.asking.Unlock()
	about := [2]string{registry, key}
	if answer, ok := a.logs.said[about]; ok {
		return answer, nil
	}
	a.Bars.Stop()
	fmt.Fprintf(a.Stderr, "\nThe registry %s has a log, which this machine sees for the first time.\n",
		surface.Escape(registry))
	if v, err := ledger.ParseVerifier(key); err == nil {
		fmt.Fprintf(a.Stderr, "  origin      %s\n", surface.Escape(v.Name()))
	}
	fmt.Fprintf(a.Stderr, "  key         %s\n", surface.Escape(key))
	fmt.Fprintf(a.Stderr, "Compare the key with what the registry's operator tells elsewhere.\n")
	answer, err := a.Ask(ctx, "Is it the right one?")
	if err != nil {
		return answer, err
	}
	if a.logs.said == nil {
		a.logs.said = map[[2]string]host.Consent{}
	}
	a.logs.said[about] = answer
	return answer, nil
}
