package cli

import (
	"encoding/json"
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
	"github.com/hallmark-mcp/hallmark/internal/host"
)

// addProjectFlags adds --project, and --global, which makes dir that of the project of the user's own clients. With
// begin the directory is made if there is none. The commands that the answer names have the flag then, too.
func addProjectFlags(a *app.App, c *cobra.Command, dir *string, begin bool) {
	addProjectFlag(a, c, dir)
	global := c.Flags().Bool("global", false, "work for your own clients, in your home directory, and not for a "+
		"project")
	before := c.PreRunE
	c.PreRunE = func(c *cobra.Command, args []string) error {
		if !*global {
			return before(c, args)
		}
		if c.Flags().Changed("project") {
			return app.Usage(c, errors.New("--global and --project name two projects"))
		}
		where, err := durable.FindPlaces(os.Getenv)
		if err != nil {
			return err
		}
		nameFlag(a, c, "--global", projectFlag(where.Config))
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

// projectFlag is how --project names a directory on a command line.
func projectFlag(dir string) string { return "--project " + host.QuoteArguments([]string{dir}) }

// nameFlag makes all that c says name commands with the first of the flags, as they are typed, that each knows: the
// commands that a user reads to type are about the same project then.
func nameFlag(a *app.App, c *cobra.Command, flags ...string) {
	name := flagNamer(c.Root(), flags)
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

// flagNamer adds the first of the flags that it knows to each command in a text that has none and no project. In a JSON
// document quotes are escaped.
func flagNamer(root *cobra.Command, flags []string) func(string) string {
	named := regexp.MustCompile("'" + root.Name() + ` ([a-z][^'\n]*)'`)
	return func(said string) string {
		quote := strings.NewReplacer()
		if json.Valid([]byte(said)) {
			quote = strings.NewReplacer(`\`, `\\`, `"`, `\"`)
		}
		return named.ReplaceAllStringFunc(said, func(whole string) string {
			line := named.FindStringSubmatch(whole)[1]
			c, _, err := root.Find(strings.Fields(line))
			has := func(flag string) bool { return strings.Contains(line, strings.Fields(flag)[0]) }
			if err != nil || has("--global") || has("--project") || slices.ContainsFunc(flags, has) {
				return whole
			}
			i := slices.IndexFunc(flags, func(flag string) bool {
				name, value, _ := strings.Cut(strings.TrimPrefix(flag, "--"), " ")
				return c.Flags().Lookup(name) != nil && (value == "" || !isForm(whole))
			})
			command := c.CommandPath()
			rest, ok := strings.CutPrefix(strings.Trim(whole, "'"), command)
			if i < 0 || !ok {
				return whole
			}
			return "'" + command + " " + quote.Replace(flags[i]) + rest + "'"
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
