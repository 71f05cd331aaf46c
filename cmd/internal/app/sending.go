package app

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/consent"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

// AllowFlags adds --allow-env and --allow-host.
func (a *App) AllowFlags(c *cobra.Command) {
	c.Flags().StringArrayVar(&a.allowHost, "allow-host", nil, "let a host that a file of the checkout names be asked: `HOST[:PORT]`; may be repeated (also $HALLMARK_ALLOW_HOSTS, separated by commas)")
	c.Flags().StringArrayVar(&a.allowEnv, "allow-env", nil, "let a file of the checkout have a variable sent to a host: `NAME=HOST`; may be repeated")
}

// sending is what may be sent: what the flags say, and what a person at a terminal agrees to.
func (a *App) sending() (*host.Sending, error) {
	s := new(host.Sending)
	for _, text := range a.allowEnv {
		v, err := project.ParseVariable(text)
		if err != nil {
			return nil, evidence.Errorf(evidence.Validation, "--allow-env", "", err)
		}
		s.Allowed = append(s.Allowed, v)
	}
	for _, text := range a.allowHost {
		host, err := allowedHost(text)
		if err != nil {
			return nil, evidence.Errorf(evidence.Validation, "--allow-host", "", err)
		}
		s.Hosts = append(s.Hosts, host)
	}
	for text := range strings.SplitSeq(os.Getenv("HALLMARK_ALLOW_HOSTS"), ",") {
		if strings.TrimSpace(text) == "" {
			continue
		}
		host, err := allowedHost(text)
		if err != nil {
			return nil, evidence.Errorf(evidence.Validation, "HALLMARK_ALLOW_HOSTS", "", err)
		}
		s.Hosts = append(s.Hosts, host)
	}
	s.AllowURL(os.Getenv("HALLMARK_REGISTRY"))
	if a.Stdin != nil && term.IsTerminal(int(a.Stdin.Fd())) {
		s.Ask = func(u consent.VariableUse) (host.Consent, error) {
			a.Bars.Stop()
			fmt.Fprintf(a.Stderr, "\n%s wants a variable of your environment sent to a host.\n  variable    %s\n  host        %s\n",
				surface.Escape(u.File), surface.Escape(u.Variable), surface.Escape(u.Host))
			return a.Ask(context.Background(), "Send it there, now and later?")
		}
	}
	if s.Ask != nil {
		s.AskHosts = func(uses []consent.HostUse) (host.Consent, error) {
			a.Bars.Stop()
			fmt.Fprintln(a.Stderr, "\nFiles of this project name hosts that this machine has not asked for it before.")
			for _, u := range uses {
				fmt.Fprintf(a.Stderr, "  %s  (%s)\n", surface.Escape(u.Host), surface.Escape(u.File))
			}
			return a.Ask(context.Background(), "Ask them, now and later?")
		}
	}
	return s, nil
}

// allowedHost reads "HOST", "HOST:PORT", or "HOST:*" for every port.
func allowedHost(text string) (string, error) {
	name, every := strings.CutSuffix(strings.TrimSpace(text), ":*")
	host, err := project.ParseHost(name)
	if err == nil && every {
		host += ":*"
	}
	return host, err
}
