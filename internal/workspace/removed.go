package workspace

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/owed"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
)

// RemovedEvidence returns evidence of what this machine accepted in a project whose hallmark.toml
// is gone; nil if the file exists, or nothing was accepted. It reads no file of the project,
// because a person who removed hallmark.toml may have changed the others.
func (w *Workspace) RemovedEvidence() (evidence.Report, error) {
	if _, err := os.Lstat(w.Path(project.ConfigFile)); !errors.Is(err, fs.ErrNotExist) {
		return nil, nil // if it cannot be read, reading it says so
	}
	if err := w.ReadApprovals(); err != nil {
		return nil, err
	}
	return owed.FromMemory(w.Approvals, "hallmark forget"+w.ProjectFlag()+" ").Settle(nil), nil
}

// ProjectFlag is " --project DIR" for a command of a hint, and "" where it is started in the project's directory.
func (w *Workspace) ProjectFlag() string {
	if host.SameFile(w.Dir, ".") {
		return ""
	}
	return " --project " + host.QuoteArguments([]string{w.Dir})
}

// ErrNoConfig is wrapped by the error of opening a directory that never was a project.
var ErrNoConfig = errors.New("there is no such file")

// missingConfig returns why a project without a hallmark.toml is not opened: this machine accepted
// something in it, so the file was removed, or there never was one.
func (w *Workspace) missingConfig() error {
	report, err := w.RemovedEvidence()
	if err != nil {
		return err
	}
	if err := policy.Judge(policy.Check, policy.Settings{}, report).Err(); err != nil {
		return err
	}
	hint := "declare servers or facets in " + project.ConfigFile + ", or name the project's directory with --project"
	if own := w.Host.Places.Config; own != w.Dir {
		if _, err := os.Stat(filepath.Join(own, project.ConfigFile)); err == nil {
			hint += "; the servers of your own clients are in --project " + host.QuoteArguments([]string{own})
		}
	}
	return &evidence.Error{Subject: w.Path(project.ConfigFile), Kind: evidence.Validation, Err: ErrNoConfig, Hint: hint}
}

// Empty returns dir as a project that declares and locks nothing, without reading its files.
func Empty(h *host.Host, dir string) *Workspace {
	return &Workspace{Host: h, Dir: dir, Config: &project.Config{}, Lock: &project.Lock{}, Release: func() {}}
}

// Peek returns the project in dir for reading, without reading its files yet. It prints nothing to
// the user.
func Peek(h *host.Host, dir string) (*Workspace, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err != nil {
		return nil, err
	}
	quiet := *h
	quiet.Logger = slog.New(slog.DiscardHandler)
	return &Workspace{Host: &quiet, Dir: real, State: ProjectState(&quiet, real), Release: func() {}}, nil
}
