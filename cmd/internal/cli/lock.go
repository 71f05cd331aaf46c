package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hallmark-mcp/hallmark/cmd/internal/app"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/project"
)

func lockCommand(a *app.App) *cobra.Command {
	return app.Group(&cobra.Command{
		Use:   "lock",
		Short: "Merge hallmark.lock of two branches",
	}, lockMergeCommand(a))
}

const lockMergeHelp = `Merge hallmark.lock after a conflict in git: an entry that one branch changed is taken from
it, and so are its files in hallmark.surfaces and hallmark.closures. Where both branches changed an
entry, say whose you want. Ours and theirs are what git calls so: in a rebase, ours is the branch
that you rebase onto. Nothing is approved by this: 'hallmark review' shows what is new on this
machine.

With three files it merges those, and writes the result to OURS, as a merge driver of git does.
Git calls it by itself if the setting merge.hallmark.driver is 'hallmark lock merge %O %A %B', and
.gitattributes has the line 'hallmark.lock merge=hallmark'.`

func lockMergeCommand(a *app.App) *cobra.Command {
	var dir string
	var ours, theirs []string
	c := &cobra.Command{
		Use:     "merge [BASE OURS THEIRS]",
		Short:   "Merge hallmark.lock after a conflict in git",
		Example: "\n--theirs notes\nbase.lock ours.lock theirs.lock",
		Long:    lockMergeHelp,
		Args:    app.Args(cobra.MaximumNArgs(3)),
		RunE: func(c *cobra.Command, files []string) error {
			take := map[string]project.Side{}
			for _, name := range ours {
				take[name] = project.Ours
			}
			for _, name := range theirs {
				if take[name] != "" {
					return app.Usage(c, fmt.Errorf("--ours and --theirs both name %+q", name))
				}
				take[name] = project.Theirs
			}
			switch {
			case len(files) == 3 && len(take) == 0:
				return workspace.MergeLockFiles(files[0], files[1], files[2])
			case len(files) > 0:
				return app.Usage(c, errors.New("name three files, or none with --ours and --theirs"))
			}
			h, err := a.Host(dir)
			if err != nil {
				return err
			}
			next, err := workspace.MergeLock(c.Context(), h, dir, take)
			if err != nil {
				return err
			}
			a.Note("%s is merged\n  next     '%s'", project.LockFile, strings.Join(next, "', then '"))
			return nil
		},
	}
	addProjectFlag(a, c, &dir)
	c.Flags().StringArrayVar(&ours, "ours", nil, "keep our entry of `NAME`, which both branches changed; may be "+
		"repeated")
	c.Flags().StringArrayVar(&theirs, "theirs", nil, "take their entry of `NAME`, which both branches changed; may be "+
		"repeated")
	return c
}
