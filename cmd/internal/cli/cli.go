// Package cli is the command line of Hallmark: flags, environment, printing and exit
// codes. It decides nothing; the flows of package hallmark do.
//
// Data goes to standard output, everything for a person to standard error. Every
// command that reports has --json.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/hallmark-mcp/hallmark"
	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/fetch"
	"github.com/hallmark-mcp/hallmark/surface"
)

// Version is set by the linker. Without it the module's own version is used.
var Version string

func version() string {
	if Version != "" {
		return Version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}

// revision is the commit that the program was built from and its time, as far as the
// build noted them.
func revision() (commit, at string) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "", ""
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			commit = s.Value
		case "vcs.time":
			at = s.Value
		}
	}
	return commit, at
}

// Program chooses the commands of a binary.
type Program func(*app) *cobra.Command

// app is what commands share.
type app struct {
	name   string
	stdin  *os.File
	stdout io.Writer
	stderr io.Writer
	bars   *bars
}

// Definition is a program's commands and flags, for pages about them.
func Definition(program Program) *cobra.Command {
	root := program(new(app))
	root.Version = version()
	addHelp(root)
	return root
}

// Main runs a program and returns its exit code.
func Main(program Program, args []string) int {
	a := &app{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr}
	root := program(a)
	a.name = root.Name()
	a.bars = newBars(os.Stderr)
	if a.name == publisherName {
		args = oneDash(root, args)
	}
	root.SetArgs(args)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.SilenceErrors, root.SilenceUsage = true, true
	root.Version = version()
	root.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	addHelp(root)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return usage(c, err) })
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	cmd, err := root.ExecuteContextC(ctx)
	a.bars.stop()
	if err == nil {
		return 0
	}
	var shown shownError
	if !errors.As(err, &shown) && !errors.As(err, new(serverExit)) {
		if ctx.Err() != nil && errors.Is(err, context.Canceled) {
			fmt.Fprintf(a.stderr, "%s: interrupted\n", a.name)
		} else {
			if strings.HasPrefix(err.Error(), "unknown command") && evidence.ClassOf(err) != evidence.Validation {
				err = usage(cmd, err)
			}
			fmt.Fprintf(a.stderr, "%s: %s\n", a.name, printable(err.Error()))
		}
	}
	return exitCode(err)
}

// printable escapes lines in which something would be obeyed or hidden by a terminal.
// Messages are escaped where text from outside enters them; this is the last gate.
func printable(message string) string {
	lines := strings.Split(message, "\n")
	for i, line := range lines {
		if len(surface.Hidden(line)) > 0 {
			lines[i] = surface.Escape(line)
		}
	}
	return strings.Join(lines, "\n")
}

// shownError was printed already.
type shownError struct{ error }

func (e shownError) Unwrap() error { return e.error }

// usage makes a mistake on the command line a validation error.
func usage(c *cobra.Command, err error) error {
	return &evidence.Error{Kind: evidence.Validation, Err: err, Hint: "see '" + c.CommandPath() + " --help'"}
}

// args makes cobra's complaints about arguments validation errors.
func args(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if err := check(c, args); err != nil {
			return usage(c, err)
		}
		return nil
	}
}

// host is the machine and user that the flows act for. dir is the project's directory.
func (a *app) host(dir string) (*hallmark.Host, error) { return a.hostWithin(dir, fetch.Limits{}) }

// hostWithin is host with limits of what is fetched.
func (a *app) hostWithin(dir string, limits fetch.Limits) (*hallmark.Host, error) {
	places, err := hallmark.FindPlaces(os.Getenv)
	if err != nil {
		return nil, err
	}
	home, _ := os.UserHomeDir() // without one there is no user's .npmrc
	config, err := fetch.UserConfig(os.Getenv, dir, home)
	if err != nil {
		return nil, evidence.Errorf(evidence.Validation, "npm configuration", "", err)
	}
	logger := slog.New(warnings{a})
	config.Logger = logger
	config.Limits = limits
	config.Progress = func(ref artifact.Ref, done, total int64) { a.bars.fetching(ref.String(), done, total) }
	return &hallmark.Host{
		Places: places, Fetch: fetch.New(config), Environ: os.Environ(), Getenv: os.Getenv,
		Logger: logger, Stderr: aside{a}, Now: time.Now,
	}, nil
}

// readDocument reads the server.json that is named, or the one in this directory.
func readDocument(names []string) (name string, data []byte, err error) {
	name = "server.json"
	if len(names) > 0 {
		name = names[0]
	}
	f, err := os.Open(name)
	if err != nil {
		kind, hint := evidence.Operation, ""
		if errors.Is(err, os.ErrNotExist) {
			kind, hint = evidence.Validation, "name the file, or begin one with 'hallmark init'"
		}
		return name, nil, evidence.Errorf(kind, name, hint, errors.Unwrap(err))
	}
	defer f.Close()
	data, err = io.ReadAll(io.LimitReader(f, maxDocument+1))
	return filepath.ToSlash(name), data, err
}

// maxDocument is how large a server.json may be, in bytes. One byte more is read, so that
// the parser sees that it is too large.
const maxDocument = 1 << 20
