package app

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/wire"
	"github.com/hallmark-mcp/hallmark/surface"
)

// AllowFlags adds --allow-env and --allow-host.
func (a *App) AllowFlags(c *cobra.Command) {
	c.Flags().StringArrayVar(&a.allowHost, "allow-host", nil,
		"let a host that a file of the checkout names be asked: `HOST[:PORT]`; may be repeated (also "+
			"$HALLMARK_ALLOW_HOSTS, separated by commas)")
	c.Flags().StringArrayVar(&a.allowEnv, "allow-env", nil,
		"let a file of the checkout have a variable sent to a host: `NAME=HOST`; may be repeated")
}

// PlaceFlags adds --state and --cache, which entries of clients say that filter a server's environment.
func (a *App) PlaceFlags(c *cobra.Command) {
	c.Flags().StringVar(&a.state, "state", "", "keep approvals in `directory`, whatever $HALLMARK_HOME says")
	c.Flags().StringVar(&a.cache, "cache", "", "keep the store in `directory`, whatever $HALLMARK_HOME says")
}

// askVariable returns a function that asks the person at the terminal whether a variable may be
// sent; nil without a terminal.
func (a *App) askVariable() func(wire.VariableUse) (host.Consent, error) {
	if !a.HasTerminal() {
		return nil
	}
	return func(u wire.VariableUse) (host.Consent, error) {
		a.Bars.Stop()
		fmt.Fprintf(a.Stderr,
			"\n%s wants a variable of your environment sent to a host.\n  variable    %s\n  host        %s\n",
			surface.Escape(u.File), surface.Escape(u.Variable), surface.Escape(u.Host))
		return a.Ask(context.Background(), "Send it there, now and later?")
	}
}

// askHosts returns a function that asks the person at the terminal whether hosts may get requests;
// nil without a terminal.
func (a *App) askHosts() func([]wire.HostUse) (host.Consent, error) {
	if !a.HasTerminal() {
		return nil
	}
	return func(uses []wire.HostUse) (host.Consent, error) {
		a.Bars.Stop()
		fmt.Fprintln(a.Stderr, "\nFiles of this project name hosts that this machine has not asked for it before.")
		for _, u := range uses {
			fmt.Fprintf(a.Stderr, "  %s  (%s)\n", surface.Escape(u.Host), surface.Escape(u.File))
		}
		return a.Ask(context.Background(), "Ask them, now and later?")
	}
}

// HasTerminal reports whether a person can be asked.
func (a *App) HasTerminal() bool { return a.Stdin != nil && term.IsTerminal(int(a.Stdin.Fd())) }
