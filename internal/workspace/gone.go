package workspace

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/host"
)

// Gone returns the project that was in dir, a directory that is not there any more: what this machine
// remembers of it can be read, and forgotten.
func Gone(h *host.Host, dir string) (*Workspace, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	above, rest := dir, "" // the links above it are those that its path had
	for filepath.Dir(above) != above {
		above, rest = filepath.Dir(above), filepath.Join(filepath.Base(above), rest)
		if real, err := filepath.EvalSymlinks(above); err == nil {
			dir = filepath.Join(real, rest)
			break
		}
	}
	w := Empty(h, dir)
	w.State = ProjectState(h, dir)
	return w, w.ReadApprovals()
}

// ForgetGone is [ForgetAll] of a project whose directory is gone.
func ForgetGone(ctx context.Context, h *host.Host, dir string) ([]string, error) {
	w, err := Gone(h, dir)
	if err != nil {
		return nil, err
	}
	names := w.Approvals.Names()
	if len(names) == 0 {
		return nil, evidence.Errorf(evidence.Validation, dir, "name the project's directory with --project",
			errors.New("there is no such directory, and this machine remembers nothing of it"))
	}
	return names, w.forget(ctx, names)
}
