package cli

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hallmark-mcp/hallmark/cmd/internal/app"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/durable"
)

// addGlobalFlag adds --global, which makes dir that of the project of the user's own clients. With begin
// the directory is made if there is none. The commands that the answer names have the flag then, too.
func addGlobalFlag(a *app.App, c *cobra.Command, dir *string, begin bool) {
	global := c.Flags().Bool("global", false, "work for your own clients, in your home directory, and not for a project")
	before := c.PreRunE
	c.PreRunE = func(c *cobra.Command, args []string) error {
		if !*global {
			if before != nil {
				return before(c, args)
			}
			return nil
		}
		if c.Flags().Changed("project") {
			return app.Usage(c, errors.New("--global and --project name two projects"))
		}
		nameFlag(a, c, "global", " --global")
		where, err := durable.FindPlaces(os.Getenv)
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

// nameFlag makes all that c says name the commands that know a flag with it, as text says: the commands that a user
// reads to type are about the same project then.
func nameFlag(a *app.App, c *cobra.Command, flag, text string) {
	name := flagNamer(c.Root(), flag, text)
	if c.Name() != "run" { // whose standard output is its server's
		a.Stdout = namingWriter{a.Stdout, name}
	}
	a.Stderr = namingWriter{a.Stderr, name}
	run := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := run(c, args); err != nil {
			return namingError{err, name}
		}
		return nil
	}
}

// flagNamer adds a flag, as text says, to the commands in a text that know it and name no project.
func flagNamer(root *cobra.Command, flag, text string) func(string) string {
	named := regexp.MustCompile("('" + root.Name() + ` )([a-z]+)((?: [^'\n]*)?)'`)
	return func(said string) string {
		return named.ReplaceAllStringFunc(said, func(whole string) string {
			parts := named.FindStringSubmatch(whole)
			c, _, err := root.Find(parts[2:3])
			if err != nil || c.Flags().Lookup(flag) == nil || strings.Contains(whole, "--global") ||
				strings.Contains(whole, "--project") || flag == "project" && isForm(whole) {
				return whole
			}
			return parts[1] + parts[2] + text + parts[3] + "'"
		})
	}
}

// isForm reports whether a command has a place for a word of the user's, such as CLIENT: it is no line to type.
func isForm(command string) bool {
	return slices.ContainsFunc(strings.Fields(strings.Trim(command, "'")), func(word string) bool {
		return len(word) > 2 && word == strings.ToUpper(word) && word != strings.ToLower(word)
	})
}

// namingWriter writes texts, each as a whole, with a flag in the commands that they name.
type namingWriter struct {
	to   io.Writer
	name func(string) string
}

func (w namingWriter) Write(text []byte) (int, error) {
	if _, err := io.WriteString(w.to, w.name(string(text))); err != nil {
		return 0, err
	}
	return len(text), nil
}

// namingError is an error whose text has a flag in the commands that it names.
type namingError struct {
	error
	name func(string) string
}

func (e namingError) Error() string { return e.name(e.error.Error()) }

func (e namingError) Unwrap() error { return e.error }
