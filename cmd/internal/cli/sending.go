package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/hallmark-mcp/hallmark"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/fetch"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

// allowEnvFlag adds --allow-env.
func (a *app) allowEnvFlag(c *cobra.Command) {
	c.Flags().StringArrayVar(&a.allowEnv, "allow-env", nil, "let a file of the checkout have a variable sent to a host: `NAME=HOST`; may be repeated")
}

// sending is what may be sent: what the flags say, and what a person at a terminal agrees to.
func (a *app) sending() (*hallmark.Sending, error) {
	s := new(hallmark.Sending)
	for _, text := range a.allowEnv {
		v, err := project.ParseVariable(text)
		if err != nil {
			return nil, evidence.Errorf(evidence.Validation, "--allow-env", "", err)
		}
		s.Allowed = append(s.Allowed, v)
	}
	if a.stdin != nil && term.IsTerminal(int(a.stdin.Fd())) {
		s.Ask = func(u fetch.VariableUse) (hallmark.Consent, error) {
			a.bars.stop()
			fmt.Fprintf(a.stderr, "\n%s wants a variable of your environment sent to a host.\n  variable    %s\n  host        %s\n",
				surface.Escape(u.File), surface.Escape(u.Variable), surface.Escape(u.Host))
			return a.ask(context.Background(), "Send it there, now and later?")
		}
	}
	return s, nil
}
