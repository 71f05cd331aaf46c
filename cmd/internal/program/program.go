// Package program holds what all programs of Hallmark have in common: their version, how they run
// and are interrupted, the form of their messages, and their exit codes.
//
// It links no flow, so that a small program stays small.
package program

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/spelling"
	"github.com/hallmark-mcp/hallmark/surface"
)

// Version is set by the linker. Without it the module's own version is used.
var Version string

// Release returns the version of the program.
func Release() string {
	if Version != "" {
		return Version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}

// Run runs the command that args name below root and returns the exit code. It calls ended, unless
// that is nil, when the command has ended, before its error is printed.
func Run(root *cobra.Command, args []string, ended func()) int {
	name := root.Name()
	root.SetArgs(args)
	root.SetOut(os.Stdout)
	root.SetErr(os.Stderr)
	prepare(root)
	named, _, _ := root.Find(args) // an unknown one is an error of ExecuteContext
	ctx, stop := signal.NotifyContext(context.Background(), endSignals(named)...)
	defer stop()
	cmd, err := root.ExecuteContextC(ctx)
	if ended != nil {
		ended()
	}
	if err == nil {
		return 0
	}
	var shown Shown
	if (!errors.As(err, &shown) || shown.Away) && !errors.As(err, new(ServerExit)) {
		if ctx.Err() != nil && errors.Is(err, context.Canceled) {
			fmt.Fprintf(os.Stderr, "%s: interrupted\n", name)
		} else {
			err = explainUnknown(cmd, err)
			fmt.Fprintf(Fold(os.Stderr), "%s: %s\n", name,
				escapeHidden(artifact.RedactURLs(nameOwn(root, err.Error()))))
		}
	}
	return ExitCode(err)
}

// nameOwn gives the commands that a message names as those of hallmark the name of this program, where it has them.
func nameOwn(root *cobra.Command, message string) string {
	return quotedCommand().ReplaceAllStringFunc(message, func(found string) string {
		name := quotedCommand().FindStringSubmatch(found)[1]
		if c, _, err := root.Find([]string{name}); err != nil || c.Name() != name {
			return found
		}
		return "'" + root.Name() + " " + name
	})
}

var quotedCommand = spelling.Form(`'hallmark ([a-z-]+)`)

// prepare makes the errors of a program's command line those of package evidence.
func prepare(root *cobra.Command) {
	root.SilenceErrors, root.SilenceUsage = true, true
	root.DisableSuggestions = true // cobra's are a block of their own and not a hint
	root.SetFlagErrorFunc(unknownFlag)
	AddHelpAndVersion(root)
}

// Hangup is the annotation of a command that handles SIGHUP itself instead of ending.
const Hangup = "hangup"

// endSignals returns the signals that cancel the context of command c, so that it ends what it
// started and then itself. SIGHUP is left out if it is ignored, as under nohup, or if c handles it.
func endSignals(c *cobra.Command) []os.Signal {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT}
	if (c == nil || c.Annotations[Hangup] == "") && !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}

// AddHelpAndVersion gives a program its help and its flag --version. [Run] calls it; the generator of
// manual pages does so too.
func AddHelpAndVersion(root *cobra.Command) {
	addHelp(root)
	addVersion(root)
}

// addVersion gives root its flag --version. Cobra's own version flag prints by a template, which
// makes the linker keep every method of every type.
func addVersion(root *cobra.Command) {
	wanted, run := false, root.RunE
	root.Flags().BoolVarP(&wanted, "version", "v", false, "version for "+root.Name())
	root.RunE = func(c *cobra.Command, args []string) error {
		if !wanted {
			return run(c, args)
		}
		_, err := fmt.Fprintf(c.OutOrStdout(), "%s %s\n", c.Name(), Release())
		return err
	}
}

// ExplainWait tells a person who starts a server by hand what it waits for.
func ExplainWait(program, server string) {
	if term.IsTerminal(int(os.Stdin.Fd())) {
		fmt.Fprintf(os.Stderr, "%s: %s waits for an MCP client on standard input; Ctrl-C ends it\n", program,
			surface.Escape(server))
	}
}

// escapeHidden escapes lines with characters that a terminal would obey or not show. Messages are
// escaped where text from outside enters them; this is the last check before they are printed.
func escapeHidden(message string) string {
	lines := strings.Split(message, "\n")
	for i, line := range lines {
		if len(surface.FindHidden(line)) > 0 {
			lines[i] = surface.Escape(line)
		}
	}
	return strings.Join(lines, "\n")
}

// Usage returns err, about the command line of c, as an error of class Validation with a hint at
// the help.
func Usage(c *cobra.Command, err error) error {
	return &evidence.Error{Kind: evidence.Validation, Err: err, Hint: "see '" + c.CommandPath() + " --help'"}
}

// Args returns check with its errors made class Validation. In place of cobra's count of arguments
// they show how the command is written.
func Args(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		err := check(c, args)
		if err == nil {
			return nil
		}
		switch unknown := strings.HasPrefix(err.Error(), "unknown command"); {
		case unknown && c.HasSubCommands():
			return unknownCommand(c, args[0])
		case unknown, strings.Contains(err.Error(), "arg(s)"):
			_, takes, _ := strings.Cut(c.Use, " ")
			err = fmt.Errorf("%s takes %s", strings.TrimPrefix(c.CommandPath(), c.Root().Name()+" "),
				cmp.Or(takes, "no arguments"))
		}
		return Usage(c, err)
	}
}
