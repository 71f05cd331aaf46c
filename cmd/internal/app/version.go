package app

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/hallmark-mcp/hallmark/cmd/internal/program"
)

// build is what 'version' says of a program.
type build struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`      // empty where the build did not record it
	Time    string `json:"commit_time,omitempty"` // RFC 3339
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

// addVersionCommand gives a program the command version.
func (a *App) addVersionCommand(root *cobra.Command) {
	var asJSON bool
	c := &cobra.Command{
		Use:     "version",
		Short:   "Show the version of this program",
		Example: "\n--json",
		Args:    Args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			b := build{Version: program.Release(), Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
			b.Commit, b.Time = FindRevision()
			if asJSON {
				return a.WriteJSON(b, nil)
			}
			commit := ""
			if b.Commit != "" {
				commit = fmt.Sprintf("commit %s, %s\n", b.Commit, b.Time)
			}
			_, err := fmt.Fprintf(a.Stdout, "%s %s\n%sbuilt with %s for %s/%s\n", root.Name(), b.Version,
				commit, b.Go, b.OS, b.Arch)
			return err
		},
	}
	if root.ContainsGroup("other") {
		c.GroupID = "other"
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the version as one JSON document")
	root.AddCommand(c)
}
