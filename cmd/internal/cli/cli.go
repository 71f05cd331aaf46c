// Package cli is the command line of Hallmark: flags, environment, printing and exit
// codes. It decides nothing; the flows of package hallmark do.
//
// Data goes to standard output, everything for a person to standard error. Every
// command that reports has --json.
package cli

import (
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"github.com/hallmark-mcp/hallmark"
	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/cmd/internal/program"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/beneath"
	"github.com/hallmark-mcp/hallmark/internal/consent"
	"github.com/hallmark-mcp/hallmark/internal/descend"
	"github.com/hallmark-mcp/hallmark/internal/fetch"
	"github.com/hallmark-mcp/hallmark/internal/places"
)

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

	allowEnv  []string // what --allow-env says
	allowHost []string // what --allow-host says
}

// Definition is a program's commands and flags, for pages about them.
func Definition(commands Program) *cobra.Command {
	root := commands(new(app))
	program.Define(root)
	return root
}

// Main runs a program and returns its exit code.
func Main(commands Program, args []string) int {
	descend.Keep()
	a := &app{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr}
	root := commands(a)
	a.name = root.Name()
	a.bars = newBars(os.Stderr)
	if a.name == publisherName {
		args = oneDash(root, args)
	}
	defer descend.End() // whatever a flow left running
	return program.Run(root, args, a.bars.stop)
}

// args and usage are program's, as every command needs them.
var (
	args  = program.Args
	usage = program.Usage
)

// host is the machine and user that the flows act for. dir is the project's directory.
func (a *app) host(dir string) (*hallmark.Host, error) { return a.hostWithin(dir, fetch.Limits{}) }

// hostWithin is host with limits of what is fetched.
func (a *app) hostWithin(dir string, limits fetch.Limits) (*hallmark.Host, error) {
	where, err := places.Find(os.Getenv)
	if err != nil {
		return nil, err
	}
	home, _ := os.UserHomeDir() // without one there is no user's .npmrc
	config, err := fetch.UserConfig(os.Getenv, dir, home)
	if err != nil {
		return nil, evidence.Errorf(evidence.Validation, "npm configuration", "", err)
	}
	logger := slog.New(program.Warnings{Name: a.name, Stderr: a.stderr, Clear: a.bars.stop})
	config.Logger = logger
	config.Limits = limits
	config.Progress = func(ref artifact.Ref, done, total int64) { a.bars.fetching(ref.String(), done, total) }
	sending, err := a.sending()
	if err != nil {
		return nil, err
	}
	h := &hallmark.Host{
		Places: where, Dir: dir, Environ: os.Environ(), Getenv: os.Getenv, Sending: sending,
		Logger: logger, Doing: a.bars.doing, Stderr: aside{a}, Now: time.Now,
	}
	config.Agreement.Ask = h.Agree
	config.Agreement.AskHost = func(u consent.HostUse) error { return h.MayAsk(u) }
	h.Fetch = fetch.New(config)
	return h, nil
}

// readDocument reads the server.json that is named, or the one in this directory.
func readDocument(names []string) (name string, data []byte, err error) {
	name, open := "server.json", beneath.Open
	if len(names) > 0 {
		name, open = names[0], os.Open
	}
	f, err := open(name)
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
