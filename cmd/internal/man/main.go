// Man writes the manual pages of all programs into a directory. They come from the
// same definitions as the programs' help.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/hallmark-mcp/hallmark/cmd/internal/app"
	"github.com/hallmark-mcp/hallmark/cmd/internal/author"
	"github.com/hallmark-mcp/hallmark/cmd/internal/cli"
	"github.com/hallmark-mcp/hallmark/cmd/internal/editor"
	"github.com/hallmark-mcp/hallmark/cmd/internal/operator"
	"github.com/hallmark-mcp/hallmark/cmd/internal/program"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: man DIRECTORY")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "man:", err)
		os.Exit(1)
	}
}

// write makes one page a command, below dir, which is made if it is missing.
func write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	hashfile := editor.Command(editor.ProgramName)
	program.AddHelpAndVersion(hashfile)
	for _, root := range []*cobra.Command{app.Definition(cli.Hallmark), app.Definition(author.Publisher),
		app.Definition(operator.HallmarkRegistry), hashfile} {
		root.DisableAutoGenTag = true
		// The library reads SOURCE_DATE_EPOCH, so that packages can be built twice alike.
		header := doc.GenManHeader{Section: "1", Manual: "Hallmark", Source: "Hallmark " + program.Release()}
		if err := doc.GenManTree(root, &header, dir); err != nil {
			return err
		}
	}
	return nil
}
