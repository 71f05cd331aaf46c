package cli

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hallmark-mcp/hallmark/cmd/internal/app"
	"github.com/hallmark-mcp/hallmark/cmd/internal/author"
	"github.com/hallmark-mcp/hallmark/cmd/internal/editor"
	"github.com/hallmark-mcp/hallmark/cmd/internal/operator"
	"github.com/hallmark-mcp/hallmark/cmd/internal/program"
)

var programs = []func() *cobra.Command{
	func() *cobra.Command { return app.Definition(Hallmark) },
	func() *cobra.Command { return app.Definition(author.Publisher) },
	func() *cobra.Command { return app.Definition(operator.HallmarkRegistry) },
	func() *cobra.Command {
		root := editor.Command(editor.ProgramName)
		program.AddHelpAndVersion(root)
		return root
	},
}

// each calls f with a command and all below it.
func each(c *cobra.Command, f func(*cobra.Command)) {
	f(c)
	for _, sub := range c.Commands() {
		each(sub, f)
	}
}

// The help of every command fits a terminal, and names every flag. Single words, as
// long URLs, may stand out.
func TestHelpFits(t *testing.T) {
	for _, define := range programs {
		each(define(), func(c *cobra.Command) {
			for _, columns := range []int{60, 80, 100} {
				text := program.Help(c, columns)
				for line := range strings.Lines(text) {
					line = strings.TrimRight(line, "\n")
					words := strings.Fields(line)
					if strings.HasSuffix(line, " ") ||
						utf8.RuneCountInString(line) > columns && len(words) > 1 &&
							!strings.HasPrefix(line, "  "+c.Root().Name()) &&
							!strings.HasPrefix(words[0], "--") {
						t.Errorf("%s --help, %d columns: %q", c.CommandPath(), columns, line)
					}
				}
				c.Flags().VisitAll(func(f *pflag.Flag) {
					if !f.Hidden && !strings.Contains(text, "--"+f.Name) {
						t.Errorf("%s --help: no --%s", c.CommandPath(), f.Name)
					}
				})
			}
			if n := len(strings.Split(c.Short, " ")); c.Short == "" || utf8.RuneCountInString(c.Short) > 63 || n < 2 {
				t.Errorf("%s: %q does not fit a line of the list of commands", c.CommandPath(), c.Short)
			}
			if use, _, _ := strings.Cut(c.UseLine(), " ["); c.Example != "" &&
				!strings.Contains(c.Example, strings.Fields(use)[0]) {
				t.Errorf("%s: examples without the program's name: %q", c.CommandPath(), c.Example)
			}
		})
	}
}

// Examples are command lines that the program would take.
func TestExamples(t *testing.T) {
	examples := 0
	for _, define := range programs {
		root := define()
		each(root, func(c *cobra.Command) {
			for line := range strings.Lines(c.Example) {
				examples++
				commandLine(t, "the help of "+c.CommandPath(), line)
				if words := shellWords(line); !strings.HasPrefix(strings.Join(words, " "), c.CommandPath()) {
					t.Errorf("an example of %s: %s", c.CommandPath(), line)
				}
			}
		})
	}
	if examples < 50 {
		t.Errorf("%d examples", examples)
	}
}

// handOver is a command line of hallmark registry as the program gets it that this hands
// over to.
func handOver(words []string) []string {
	if len(words) > 1 && words[0] == "hallmark" && words[1] == "registry" {
		return append([]string{registryProgram}, words[2:]...)
	}
	return words
}

// commandLine requires that a program has the command and the flags of a line, and would
// take its arguments.
func commandLine(t *testing.T, where, line string) {
	t.Helper()
	words := handOver(shellWords(line))
	for _, define := range programs {
		root := define()
		if root.Name() != words[0] {
			continue
		}
		args := words[1:]
		if root.Name() == author.PublisherName {
			args = author.DoubleDashes(root, args)
		}
		c, rest, err := root.Find(args)
		if err == nil {
			err = c.ParseFlags(rest)
		}
		if err == nil && c.HasSubCommands() && c.Flags().NArg() > 0 {
			err = app.Usage(c, cobra.NoArgs(c, c.Flags().Args()))
		}
		if err == nil && c.Args != nil {
			err = c.Args(c, c.Flags().Args())
		}
		if err != nil {
			t.Errorf("%s: %s: %v", where, strings.TrimSpace(line), err)
		}
		return
	}
	t.Errorf("%s: %s: no such program", where, line)
}

// shellWords splits a line at spaces, save between single quotes.
func shellWords(line string) []string {
	var words []string
	for i, part := range strings.Split(strings.TrimSpace(line), "'") {
		if i%2 == 1 {
			words = append(words, part)
		} else {
			words = append(words, strings.Fields(part)...)
		}
	}
	return words
}

// What cannot be helped with is a mistake, not a success.
func TestHelpUnknown(t *testing.T) {
	for _, args := range [][]string{{"help", "nonsense"}, {"help", "log", "nonsense"}} {
		if code := app.Main(Hallmark, args); code != 2 {
			t.Errorf("hallmark %s: exit code %d", strings.Join(args, " "), code)
		}
	}
}
