// Package app is what the commands of all programs share: the machine and user that flows act
// for, flags that several commands have, questions at a terminal, progress, and printing. It
// knows no command.
package app

import (
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/cmd/internal/program"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/consent"
	"github.com/hallmark-mcp/hallmark/internal/descend"
	"github.com/hallmark-mcp/hallmark/internal/fetch"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/places"
)

// FindRevision is the commit that the program was built from and its time, as far as the
// build noted them.
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

	// Rewrite changes what a program was called with before it is read; nil changes nothing.
	Rewrite func(root *cobra.Command, args []string) []string

	allowEnv  []string // what --allow-env says
	allowHost []string // what --allow-host says
}

// Definition is a program's commands and flags, for pages about them.
func Definition(commands Program) *cobra.Command {
	root := commands(new(App))
	program.AddHelpAndVersion(root)
	return root
}

// Main runs a program and returns its exit code.
func Main(commands Program, args []string) int {
	descend.EnableKeepers()
	a := &App{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	root := commands(a)
	a.Name = root.Name()
	a.Bars = NewBars(os.Stderr)
	if a.Rewrite != nil {
		args = a.Rewrite(root, args)
	}
	defer descend.EndAll() // whatever a flow left running
	return program.Run(root, args, a.Bars.Stop)
}

// Args and usage are program's, as every command needs them.
var (
	Args  = program.Args
	Usage = program.Usage
)

// Host is the machine and user that the flows act for. dir is the project's directory.
func (a *App) Host(dir string) (*host.Host, error) { return a.HostWithin(dir, fetch.Limits{}) }

// HostWithin is host with limits of what is fetched.
func (a *App) HostWithin(dir string, limits fetch.Limits) (*host.Host, error) {
	where, err := places.Find(os.Getenv)
	if err != nil {
		return nil, err
	}
	home, _ := os.UserHomeDir() // without one there is no user's .npmrc
	config, err := fetch.UserConfig(os.Getenv, dir, home)
	if err != nil {
		return nil, evidence.Errorf(evidence.Validation, "npm configuration", "", err)
	}
	logger := slog.New(program.Warnings{Name: a.Name, Stderr: a.Stderr, Clear: a.Bars.Stop})
	config.Logger = logger
	config.Limits = limits
	config.Progress = func(ref artifact.Ref, done, total int64) { a.Bars.Fetching(ref.String(), done, total) }
	sending, err := a.sending()
	if err != nil {
		return nil, err
	}
	h := &host.Host{
		Places: where, Dir: dir, Environ: os.Environ(), Getenv: os.Getenv, Sending: sending,
		Logger: logger, ShowStatus: a.Bars.doing, Stderr: aside{a}, Now: time.Now,
	}
	config.Agreement.Ask = h.RequireVariableConsent
	config.Agreement.AskHost = func(u consent.HostUse) error { return h.RequireHostConsent(u) }
	h.Fetch = fetch.New(config)
	return h, nil
}
