package hallmark

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/owed"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
)

// removed is evidence of what this machine accepted in a project whose hallmark.toml is gone; nil
// if that is there, or nothing was accepted. Of the project's files none is read, as whoever took
// one away chose what is left of the others.
func (w *workspace) removed() (evidence.Report, error) {
	if _, err := os.Lstat(w.path(project.ConfigFile)); !errors.Is(err, fs.ErrNotExist) {
		return nil, nil // if it cannot be read, reading it says so
	}
	if err := w.readApprovals(); err != nil {
		return nil, err
	}
	forget := "hallmark forget "
	if !sameFile(w.dir, ".") {
		forget += "--project " + quoteArguments([]string{w.dir}) + " "
	}
	return owed.Removed(w.approvals, forget).Settle(nil), nil
}

// noConfig is why a project without a hallmark.toml is not opened: what this machine accepted in
// it is missing, or there never was one.
func (w *workspace) noConfig() error {
	report, err := w.removed()
	if err != nil {
		return err
	}
	if err := policy.Judge(policy.Check, policy.Settings{}, report).Err(); err != nil {
		return err
	}
	return &evidence.Error{
		Subject: w.path(project.ConfigFile), Kind: evidence.Validation, Err: errors.New("there is no such file"),
		Hint: "declare servers or facets in " + project.ConfigFile + ", or name the project's directory with --project",
	}
}

// emptyWorkspace is dir as a project that declares and locks nothing, whatever lies there.
func emptyWorkspace(h *Host, dir string) *workspace {
	return &workspace{host: h, dir: dir, config: &project.Config{}, lock: &project.Lock{}, release: func() {}}
}

// unread is the project in dir, none of whose files is read yet, for reading alone: it says
// nothing to the user.
func (h *Host) unread(dir string) (*workspace, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err != nil {
		return nil, err
	}
	quiet := *h
	quiet.Logger = slog.New(slog.DiscardHandler)
	return &workspace{host: &quiet, dir: real, state: quiet.projectState(real), release: func() {}}, nil
}
