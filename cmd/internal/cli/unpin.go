package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hallmark-mcp/hallmark/cmd/internal/app"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/pin"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

// addClientFlags adds --client and --config.
func addClientFlags(c *cobra.Command, f *pin.ClientFiles) {
	c.Flags().StringVar(&f.Client, "client", "",
		"the MCP client whose `configuration` is meant, as 'hallmark scan' names it")
	_ = c.RegisterFlagCompletionFunc("client", completeClient) // which is a flag of c
	c.Flags().StringVar(&f.Config, "config", "", "a client's configuration `file`")
}

const unpinHelp = `Restore the entries that 'hallmark pin --write-config' rewrote, byte for byte, and remove
the servers from hallmark.lock with the files beside it and this machine's approval. If a
client wrote its file anew since, the command and the arguments are restored, and no more.
hallmark.toml is left alone. FILE.hallmark has the old entries. In a project it may be somebody
else's, so you see what a file there would get back, and are asked. If an entry was edited
since, nothing is undone.`

func unpinCommand(a *app.App) *cobra.Command {
	var dir string
	var asJSON, yes bool
	var o pin.UnpinOptions
	c := &cobra.Command{
		Use:               "unpin NAME...",
		Short:             "Restore clients' entries and unlock the servers",
		Example:           "notes",
		Long:              unpinHelp,
		Args:              app.Args(cobra.MinimumNArgs(1)),
		ValidArgsFunction: completeServers,
		RunE: a.Reporting(&asJSON, a.OnHost(&dir, func(c *cobra.Command, h *host.Host, names []string) error {
			if o.Files.Client != "" && o.Files.Config != "" {
				return app.Usage(c, errors.New("--client and --config exclude each other"))
			}
			o.Files.Home, _ = os.UserHomeDir() // without one there are no user's files
			o.Confirm = func(all []pin.Restored) (bool, error) { return askRestored(c.Context(), a, all, yes) }
			undone, err := pin.Unpin(c.Context(), h, dir, names, o)
			if asJSON {
				return writeUnpinned(a, undone, err)
			}
			if err != nil {
				return err
			}
			for _, u := range undone {
				reportUnpinned(a, u)
			}
			return nil
		})),
	}
	addProjectFlag(a, c, &dir)
	addClientFlags(c, &o.Files)
	c.Flags().BoolVar(&yes, "yes", false, "consent to what files inside the project get back")
	c.Flags().BoolVar(&o.KeepLock, "keep-lock", false, "restore the clients' entries only")
	c.Flags().BoolVar(&asJSON, "json", false, "print what was undone as one JSON document")
	return c
}

// writeUnpinned prints the servers whose entries were restored as JSON.
func writeUnpinned(a *app.App, undone []pin.Unpinned, err error) error {
	return a.WriteJSON(struct {
		app.Outcome
		Servers []pin.Unpinned `json:"servers"`
	}{app.OutcomeOf(policy.Verdict{}, err), append([]pin.Unpinned{}, undone...)}, err)
}

// askRestored shows what clients' files get back, and asks unless yes is set.
func askRestored(ctx context.Context, a *app.App, all []pin.Restored, yes bool) (bool, error) {
	showRestored(a.Stderr, all)
	if yes {
		return true, nil
	}
	answer, err := a.Ask(ctx, "Restore this?")
	return answer == host.InformedConsent, err
}

// showRestored prints what clients' files get back.
func showRestored(w io.Writer, all []pin.Restored) {
	for _, x := range all {
		fmt.Fprintf(w, "\n%s\n  file        %s\n", surface.Escape(x.Name), surface.Escape(x.File))
		for line := range strings.Lines(x.Was) {
			fmt.Fprintf(w, "  restores    %s\n", surface.Escape(strings.TrimSpace(line)))
		}
	}
}

// reportUnpinned says what a client's files got back, and whether the server is unlocked.
func reportUnpinned(a *app.App, u pin.Unpinned) {
	for _, file := range u.Restored {
		a.Note("%s is restored in %s", u.Name, surface.Escape(file))
	}
	if u.Unlocked {
		a.Note("%s is not locked any more", u.Name)
		if u.Declared {
			a.Note("%s is still declared in %s, so that 'hallmark check' refuses the project until it "+
				"is pinned again or taken out", u.Name, project.ConfigFile)
		}
	}
}
