package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hallmark-mcp/hallmark/cmd/internal/app"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/configure"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

func configCommand(a *app.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "config",
		Short: "Bring " + project.ConfigFile + " up to date",
		Args:  app.Args(cobra.NoArgs),
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	var dir string
	var asJSON bool
	migrate := &cobra.Command{
		Use:   "migrate",
		Short: "Rewrite deprecated keys of " + project.ConfigFile,
		Long: "Rewrite each 'checksum' of " + project.ConfigFile +
			" as the 'verify' block that it stands for. Comments, order and\neverything else stay.",
		Args: app.Args(cobra.NoArgs),
		RunE: a.Reporting(&asJSON, func(c *cobra.Command, _ []string) error {
			m, err := configure.MigrateConfig(c.Context(), dir)
			if err != nil {
				return err
			}
			if asJSON {
				return a.WriteJSON(m, nil)
			}
			for _, name := range m.Servers {
				fmt.Fprintf(a.Stderr, "%s: %s: checksum is now a verify block\n", a.Name, surface.Escape(name))
			}
			for _, name := range m.Kept {
				fmt.Fprintf(a.Stderr, "%s: warning: %s: checksum is ignored beside verify; remove it\n", a.Name,
					surface.Escape(name))
			}
			if len(m.Servers)+len(m.Kept) == 0 {
				fmt.Fprintf(a.Stderr, "%s: nothing to migrate\n", a.Name)
			}
			return nil
		}),
	}
	addProjectFlag(migrate, &dir)
	migrate.Flags().BoolVar(&asJSON, "json", false, "print the result as one JSON document")
	c.AddCommand(migrate)
	return c
}

func verifyServerCommand(a *app.App) *cobra.Command {
	var dir string
	var write, asJSON bool
	c := &cobra.Command{
		Use:     "verify-server NAME",
		Short:   "Hash what a server's verify block names, and fill it in",
		Example: "notes\nnotes --write",
		Long: `Hash the files that the verify block of a server names, report the links that lead to
them, and compare with what the block claims. With --write the digests are put into the
block; value = "" is a place for one. A server without a block gets one, for the file
that its interpreter is given or for its command, unless a launcher starts it: no hash
of a launcher covers what it runs.`,
		Args:              app.Args(cobra.ExactArgs(1)),
		ValidArgsFunction: completeServers,
		RunE: a.Reporting(&asJSON, func(c *cobra.Command, names []string) error {
			h, err := a.Host(dir)
			if err != nil {
				return err
			}
			f, err := configure.VerifyServer(c.Context(), h, dir, names[0], write)
			if err != nil {
				return err
			}
			if !write {
				err = f.Verdict.Err()
			}
			if asJSON {
				return a.WriteJSON(struct {
					app.Outcome
					Type    project.VerifyType `json:"type"`
					Written bool               `json:"written"`
				}{app.OutcomeOf(f.Verdict, err), f.Type, f.Written}, err)
			}
			if !write {
				return errors.Join(app.WriteReport(a.Stdout, f.Verdict), err)
			}
			for i, o := range f.Files {
				fmt.Fprintf(a.Stdout, "%s  %s\n", o.SHA256(), surface.Escape(o.From))
				if f.Chains[i] != "" {
					fmt.Fprintf(a.Stdout, "  by %s\n", surface.Escape(f.Chains[i]))
				}
			}
			if !f.Written {
				return evidence.Errorf(evidence.Validation, names[0], "",
					errors.New(`its verify block is an opt-out; nothing was written`))
			}
			fmt.Fprintf(a.Stderr, "%s: %s: verify is written to %s\n", a.Name, surface.Escape(names[0]),
				project.ConfigFile)
			return nil
		}),
	}
	addProjectFlag(c, &dir)
	c.Flags().BoolVar(&write, "write", false, "put the digests into "+project.ConfigFile)
	c.Flags().BoolVar(&asJSON, "json", false, "print the evidence as one JSON document")
	return c
}
