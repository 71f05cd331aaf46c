package cli

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hallmark-mcp/hallmark/cmd/internal/app"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/places"
)

// addGlobalFlag adds --global, which makes dir that of the project of the user's own clients. With begin
// the directory is made if there is none. The commands that the answer names have the flag then, too.
func addGlobalFlag(a *app.App, c *cobra.Command, dir *string, begin bool) {
	global := c.Flags().Bool("global", false, "work for your own clients, in your home directory, and not for a project")
	c.PreRunE = func(c *cobra.Command, _ []string) error {
		if !*global {
			return nil
		}
		if c.Flags().Changed("project") {
			return app.Usage(c, errors.New("--global and --project name two projects"))
		}
		name := globalNamer(c.Root())
		a.Stdout, a.Stderr = globalWriter{a.Stdout, name}, globalWriter{a.Stderr, name}
		run := c.RunE
		c.RunE = func(c *cobra.Command, args []string) error {
			if err := run(c, args); err != nil {
				return globalError{err, name}
			}
			return nil
		}
		where, err := places.Find(os.Getenv)
		if err != nil {
			return err
		}
		*dir = where.Config
		if begin {
			return os.MkdirAll(where.Config, 0o700)
		}
		if _, err := os.Stat(where.Config); errors.Is(err, fs.ErrNotExist) {
			return evidence.Errorf(evidence.Validation, where.Config,
				"'hallmark add NAME --global --registry URL' begins with the first facet",
				errors.New("nothing is installed for your own clients"))
		}
		return nil
	}
}

// globalNamer adds --global to the commands in a text that know it.
func globalNamer(root *cobra.Command) func(text string) string {
	named := regexp.MustCompile("('" + root.Name() + ` )([a-z]+)((?: [^'\n]*)?)'`)
	return func(text string) string {
		return named.ReplaceAllStringFunc(text, func(whole string) string {
			parts := named.FindStringSubmatch(whole)
			c, _, err := root.Find(parts[2:3])
			if err != nil || c.Flags().Lookup("global") == nil || strings.Contains(whole, "--global") ||
				strings.Contains(whole, "--project") {
				return whole
			}
			return parts[1] + parts[2] + " --global" + parts[3] + "'"
		})
	}
}

// globalWriter writes texts, each as a whole, with --global in the commands that they name.
type globalWriter struct {
	to   io.Writer
	name func(string) string
}

func (w globalWriter) Write(text []byte) (int, error) {
	if _, err := io.WriteString(w.to, w.name(string(text))); err != nil {
		return 0, err
	}
	return len(text), nil
}

// globalError is an error whose text has --global in the commands that it names.
type globalError struct {
	error
	name func(string) string
}

func (e globalError) Error() string { return e.name(e.error.Error()) }

func (e globalError) Unwrap() error { return e.error }
