package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hallmark-mcp/hallmark/cmd/internal/app"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/pin"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

func configCommand(a *app.App) *cobra.Command {
	c := app.Group(&cobra.Command{
		Use:   "config",
		Short: "Bring " + project.ConfigFile + " up to date",
	})
	var dir string
	var asJSON bool
	migrate := &cobra.Command{
		Use:   "migrate",
		Short: "Rewrite deprecated keys of " + project.ConfigFile,
		Long: "Rewrite each 'checksum' of " + project.ConfigFile +
			" as the 'verify' block that it stands for. Comments, order and\neverything else stay.",
		Args: app.Args(cobra.NoArgs),
		RunE: a.Reporting(&asJSON, func(c *cobra.Command, _ []string) error {
			m, err := pin.MigrateConfig(c.Context(), dir)
			if err != nil {
				return err
			}
			if asJSON {
				return a.WriteJSON(m, nil)
			}
			for _, name := range m.Servers {
				a.Note("%s: checksum is now a verify block", surface.Escape(name))
				warnOfLauncher(a, name, m.LauncherOnly[name])
			}
			for _, name := range m.Kept {
				a.Note("warning: %s: checksum is ignored beside verify; remove it", surface.Escape(name))
			}
			if len(m.Servers)+len(m.Kept) == 0 {
				a.Note("nothing to migrate")
			}
			return nil
		}),
	}
	addProjectFlag(a, migrate, &dir)
	migrate.Flags().BoolVar(&asJSON, "json", false, "print the result as one JSON document")
	c.AddCommand(migrate)
	return c
}

// warnOfLauncher warns that a verify block hashes a launcher and not what that runs; why is "" if it
// does not.
func warnOfLauncher(a *app.App, name, why string) {
	if why != "" {
		a.Note("warning: %s: verify does not pin what it runs: %s", surface.Escape(name), why)
	}
}

// verifiedJSON is a server of verify-server.
type verifiedJSON struct {
	Name    string             `json:"name"`
	Type    project.VerifyType `json:"type"`
	Written bool               `json:"written"`
	// its block hashes a launcher alone; what pins the rest
	LauncherOnly string `json:"launcher_only,omitempty"`
}

const verifyServerHelp = `Hash the files that the verify block of a server names, report the links that lead to
them, and compare with what the block claims. With --write the digests are put into the
block; value = "" is a place for one. A server without a block gets one, for the file
that its interpreter is given or for its command, unless a launcher starts it: no hash
of a launcher covers what it runs. --all takes every server that has a block, and gives
none to the others.`

func verifyServerCommand(a *app.App) *cobra.Command {
	var dir string
	var write, all, asJSON bool
	c := &cobra.Command{
		Use:     "verify-server NAME... | --all",
		Short:   "Hash what servers' verify blocks name, and fill them in",
		Example: "notes\nnotes --write\n--all",
		Long:    verifyServerHelp,
		Args: app.Args(func(c *cobra.Command, names []string) error {
			if all == (len(names) > 0) {
				return errors.New("takes one NAME or more, or --all")
			}
			return nil
		}),
		ValidArgsFunction: completeServers,
		RunE: a.Reporting(&asJSON, a.OnHost(&dir, func(c *cobra.Command, h *host.Host, names []string) (err error) {
			if all {
				if names, err = pin.ServersToVerify(dir); err != nil {
					return err
				}
			}
			done, verdict, err := verifyServers(c.Context(), h, dir, names, write, all)
			if asJSON {
				return a.WriteJSON(verifiedResult(done, verdict, err), err)
			}
			if !write {
				if len(done) == 0 && err == nil {
					a.Note("%s has no verify block", project.ConfigFile)
				}
				for _, f := range done {
					warnOfLauncher(a, f.Name, f.LauncherOnly)
				}
				return errors.Join(app.WriteReport(a.Stdout, verdict), err)
			}
			for _, f := range done {
				showVerified(a, f)
			}
			return err
		})),
	}
	addProjectFlag(a, c, &dir)
	c.Flags().BoolVar(&write, "write", false, "put the digests into "+project.ConfigFile)
	c.Flags().BoolVar(&all, "all", false, "take all servers that have a verify block")
	c.Flags().BoolVar(&asJSON, "json", false, "print the evidence as one JSON document")
	return c
}

// verifyServers hashes what the verify blocks of servers name, and with write fills them in. all is whether the servers
// were not named, so that those whose block is an opt-out are passed over.
func verifyServers(ctx context.Context, h *host.Host, dir string, names []string,
	write, all bool) ([]*pin.VerifyResult, policy.Verdict, error) {
	done := []*pin.VerifyResult{}
	var report evidence.Report
	var problems []error
	for _, name := range names {
		f, err := pin.VerifyServer(ctx, h, dir, name, write)
		if err == nil && write && !f.Written && !all {
			err = evidence.Errorf(evidence.Validation, name, "",
				errors.New(`its verify block is an opt-out; nothing was written`))
		}
		problems = append(problems, err)
		if f != nil {
			done, report = append(done, f), append(report, f.Verdict.Report()...)
		}
	}
	verdict := policy.Judge(policy.Bare, policy.Settings{}, report)
	if !write {
		problems = append(problems, verdict.Err())
	}
	return done, verdict, errors.Join(problems...)
}

// verifiedResult is the JSON answer of verify-server. Of one server its members stand at the top too.
func verifiedResult(done []*pin.VerifyResult, verdict policy.Verdict, err error) any {
	result := struct {
		app.Outcome
		Type    project.VerifyType `json:"type,omitempty"`
		Written bool               `json:"written"`
		Servers []verifiedJSON     `json:"servers"`
	}{Outcome: app.OutcomeOf(verdict, err), Servers: []verifiedJSON{}}
	for _, f := range done {
		result.Servers = append(result.Servers, verifiedJSON{f.Name, f.Type, f.Written, f.LauncherOnly})
		result.Type, result.Written = f.Type, result.Written || f.Written
	}
	if len(done) != 1 {
		result.Type = ""
	}
	return result
}

// showVerified prints what was written into the verify block of a server.
func showVerified(a *app.App, f *pin.VerifyResult) {
	if !f.Written {
		return
	}
	for i, o := range f.Files {
		fmt.Fprintf(a.Stdout, "%s  %s\n", o.SHA256(), surface.Escape(o.From))
		if f.Chains[i] != "" {
			fmt.Fprintf(a.Stdout, "  by %s\n", surface.Escape(f.Chains[i]))
		}
	}
	a.Note("%s: verify is written to %s", surface.Escape(f.Name), project.ConfigFile)
	warnOfLauncher(a, f.Name, f.LauncherOnly)
}
