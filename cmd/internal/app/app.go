// Package app holds what the commands of all programs share: the machine and user that flows act
// for, flags that several commands have, questions at a terminal, progress, and printing. It
// defines no command.
package app

import (
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	"sync"

	"github.com/spf13/cobra"

	"github.com/hallmark-mcp/hallmark/cmd/internal/program"
	"github.com/hallmark-mcp/hallmark/internal/fetch"
	"github.com/hallmark-mcp/hallmark/internal/foreign"
	"github.com/hallmark-mcp/hallmark/internal/host"
)

// FindRevision returns the commit that the program was built from and its time, "" where the build
// did not record them.
func FindRevision() (commit, at string) {
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
type Program func(*App) *cobra.Command

// App is what commands share.
type App struct {
	Name   string
	Stdin  *os.File
	Stdout io.Writer
	Stderr io.Writer
	Bars   *bars

	Args []string // what the program was called with, as Rewrite leaves it

	// Rewrite changes the arguments of a program before they are parsed; nil changes nothing.
	Rewrite func(root *cobra.Command, args []string) []string

	allowEnv  []string // what --allow-env says
	allowHost []string // what --allow-host says

	state, cache string // what --state and --cache say

	logs answered // what was said of keys of logs
}

// Definition is a program's commands and flags, for pages about them.
func Definition(commands Program) *cobra.Command {
	a := new(App)
	root := commands(a)
	a.addVersionCommand(root)
	program.AddHelpAndVersion(root)
	return root
}

// Main runs a program and returns its exit code.
func Main(commands Program, args []string) int {
	foreign.EnableKeepers()
	a := &App{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	root := commands(a)
	a.addVersionCommand(root)
	a.Name = root.Name()
	a.Bars = NewBars(os.Stderr)
	if a.Rewrite != nil {
		args = a.Rewrite(root, args)
	}
	a.Args = args
	defer foreign.EndAll() // whatever a flow left running
	return program.Run(root, args, a.Bars.Stop)
}

// Group makes c a command that only has others below it.
func Group(c *cobra.Command, below ...*cobra.Command) *cobra.Command {
	c.Args = Args(cobra.NoArgs)
	c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	c.AddCommand(below...)
	return c
}

// Args and usage come from package program, because every command needs them.
var (
	Args  = program.Args
	Usage = program.Usage
)

// Host returns the machine and user that the flows act for. dir is the project's directory.
func (a *App) Host(dir string) (*host.Host, error) { return a.HostWithin(dir, fetch.Limits{}) }

// OnHost is run with the [App.Host] of dir, which flags may set; nil is this directory.
func (a *App) OnHost(
	dir *string, run func(*cobra.Command, *host.Host, []string) error,
) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		where := "."
		if dir != nil {
			where = *dir
		}
		h, err := a.Host(where)
		if err != nil {
			return err
		}
		return run(c, h, args)
	}
}

// HostWithin is [App.Host] with limits on what is fetched.
func (a *App) HostWithin(dir string, limits fetch.Limits) (*host.Host, error) {
	return host.Open(host.Setup{
		Dir:      dir,
		Limits:   limits,
		Logger:   slog.New(program.Warnings{Name: a.Name, Stderr: a.Stderr, Clear: a.Bars.Stop, Said: new(sync.Map)}),
		Stderr:   aside{a},
		Progress: a.Bars.Fetching,
		Doing:    a.Bars.doing,
		AllowEnv: a.allowEnv, AllowHosts: a.allowHost,
		State: a.state, Cache: a.cache,
		Ask: a.askVariable(), AskHosts: a.askHosts(),
	})
}
