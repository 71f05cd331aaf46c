package author

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/hallmark-mcp/hallmark/cmd/internal/app"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/publish"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/surface"
)

// verdictless is the verdict of commands that judge nothing.
var verdictless = policy.Verdict{}

// StatusCommand returns the command status of mcp-publisher.
func StatusCommand(a *app.App) *cobra.Command {
	return changeStatusCommand(a, "", &cobra.Command{
		Use:     "status --status active|deprecated|deleted NAME [VERSION]",
		Short:   "Deprecate, delete or restore what was published",
		Example: "--status deprecated --message 'use 1.5.0' io.github.acme/notes 1.4.0",
		Long: `Change the status of one version of a server, or of all with --all-versions. A deleted
version is no longer listed; it can be restored, and nobody can publish it again. With
--archive it is a facet, a server that is packed from source (artifact) or a plugin.`,
	})
}

// DeprecateCommand returns the command deprecate.
func DeprecateCommand(a *app.App) *cobra.Command {
	return changeStatusCommand(a, registry.Deprecated, &cobra.Command{
		Use:     "deprecate NAME[@VERSION]",
		Short:   "Warn those who take a version that you published",
		Example: "--message 'use 1.5.0' io.github.acme/notes@1.4.0",
		Long: `Mark one version of a server that you published as deprecated, or all with --all-versions.
Anyone who adds it or upgrades to it sees your message. With --archive it is a facet, a
server that is packed from source (artifact) or a plugin. 'restore' undoes it.`,
	})
}

// YankCommand returns the command yank.
func YankCommand(a *app.App) *cobra.Command {
	return changeStatusCommand(a, registry.Deleted, &cobra.Command{
		Use:     "yank NAME[@VERSION]",
		Short:   "Take back a version that you published",
		Example: "--message 'leaks its token' io.github.acme/notes@1.4.0",
		Long: `Take back one version of a server that you published, or all with --all-versions. It is
no longer listed, and refused where it is added; nobody can publish it again. With
--archive it is a facet, a server that is packed from source (artifact) or a plugin.
'restore' undoes it.`,
	})
}

// RestoreCommand returns the command restore.
func RestoreCommand(a *app.App) *cobra.Command {
	return changeStatusCommand(a, registry.Active, &cobra.Command{
		Use:     "restore NAME[@VERSION]",
		Short:   "Undo 'deprecate' or 'yank'",
		Example: "io.github.acme/notes@1.4.0",
		Long: `Make one version of a server that you deprecated or yanked active again, or all with
--all-versions. With --archive it is a facet, a server that is packed from source
(artifact) or a plugin.`,
	})
}

// changeStatusCommand makes c a command that changes the status of what was published to fixed, or to what --status
// says.
func changeStatusCommand(a *app.App, fixed registry.Status, c *cobra.Command) *cobra.Command {
	x := &statusChange{a: a}
	c.Args = app.Args(cobra.RangeArgs(1, 2))
	c.RunE = a.Reporting(&x.asJSON, func(c *cobra.Command, names []string) error {
		x.o.Status = cmp.Or(fixed, registry.Status(x.status))
		return x.run(c, names)
	})
	f := c.Flags()
	f.StringVar(&x.base, "registry", os.Getenv("HALLMARK_REGISTRY"),
		"base `URL` of the registry (default $HALLMARK_REGISTRY, else that of the last login)")
	if fixed == "" {
		f.StringVar(&x.status, "status", "", "the new `status`: active, deprecated or deleted")
	}
	f.StringVar(&x.archive, "archive", "", "`kind` of the archive whose status changes: facet, artifact or plugin")
	if fixed != registry.Active {
		f.StringVar(&x.o.Message, "message", "", "`text` that says why, in at most 500 characters; not with active")
	}
	f.BoolVar(&x.all, "all-versions", false, "change all versions")
	f.BoolVarP(&x.yes, "yes", "y", false, "do not ask before all versions are changed")
	f.BoolVar(&x.asJSON, "json", false, "print the result as one JSON document")
	return c
}

// statusChange is one call of a command that changes a status.
type statusChange struct {
	a                     *app.App
	base, status, archive string
	all, yes, asJSON      bool
	o                     publish.StatusOptions
	before                []publish.VersionStatus
}

func (x *statusChange) run(c *cobra.Command, names []string) error {
	if at := strings.LastIndex(names[0], "@"); at > 0 && len(names) == 1 { // NAME@VERSION, as other commands take it
		names = []string{names[0][:at], names[0][at+1:]}
	}
	x.o.Name, x.o.Archive = names[0], ledger.Kind(x.archive)
	switch {
	case x.o.Status == "":
		return app.Usage(c, errors.New("say with --status whether it is active, deprecated or deleted"))
	case x.all && len(names) == 2:
		return app.Usage(c, errors.New("either a version or --all-versions"))
	case !x.all && (len(names) == 1 || names[1] == ""): // which would be all, without a question
		return app.Usage(c, errors.New("name the version, or say --all-versions"))
	case !x.all:
		x.o.Version = names[1]
	}
	h, err := x.a.Host(".")
	if err != nil {
		return err
	}
	if x.o.Registry, x.o.Token, err = FindRegistry(h, c, x.base); err != nil {
		return err
	}
	x.o.Confirm = x.confirm
	n, err := publish.SetStatus(c.Context(), x.o)
	if x.asJSON {
		return x.a.WriteJSON(struct {
			app.Outcome
			Updated int                     `json:"updated"`
			Before  []publish.VersionStatus `json:"before,omitempty"`
		}{app.OutcomeOf(verdictless, err), n, x.before}, err)
	}
	if err != nil {
		return err
	}
	x.a.Note("%d updated", n)
	return nil
}

// confirm shows what changes, and asks before all versions do.
func (x *statusChange) confirm(states []publish.VersionStatus) error {
	x.before = states
	for _, s := range states {
		fmt.Fprintf(x.a.Stderr, "%s %s: %s → %s\n", surface.Escape(x.o.Name), surface.Escape(s.Version),
			surface.Escape(string(s.Status)), x.o.Status)
	}
	if !x.all || x.yes {
		return nil
	}
	return confirm(x.a, fmt.Sprintf("change %s of %s?", evidence.Count(len(states), "version"),
		surface.Escape(x.o.Name)))
}

// confirm asks a person. If no person can be asked it refuses.
func confirm(a *app.App, question string) error {
	refused := func(why string) error {
		return evidence.Errorf(evidence.Refused, "", "say --yes", errors.New(why))
	}
	if !term.IsTerminal(int(a.Stdin.Fd())) {
		return refused("not confirmed: there is nobody to ask")
	}
	fmt.Fprintf(a.Stderr, "%s [y/N] ", question)
	line, err := bufio.NewReader(a.Stdin).ReadString('\n')
	if answer := strings.ToLower(strings.TrimSpace(line)); err != nil || answer != "y" && answer != "yes" {
		return refused("not confirmed")
	}
	return nil
}
