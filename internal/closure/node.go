package closure

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/project"
)

// FindNode finds node in path, and asks it for its own executable and major version, because the
// file in PATH may be a shim.
func FindNode(ctx context.Context, w *workspace.Workspace, path string) (*project.Runtime, error) {
	found, err := FindAskable(w, path, "install Node.js", "node")
	if err != nil {
		return nil, err
	}
	answer, err := Ask(ctx, w.Host, Question{
		Path: found, Set: []string{"PATH=" + path},
		Args: []string{"-p", `process.execPath + "\n" + process.versions.node`},
	})
	if err != nil {
		return nil, evidence.Errorf(evidence.Operation, found, "", err)
	}
	exe, version, ok := strings.Cut(strings.TrimSpace(string(answer.Stdout)), "\n")
	major, _, ok2 := strings.Cut(strings.TrimSpace(version), ".")
	if !ok || !ok2 || !filepath.IsAbs(exe) {
		return nil, evidence.Errorf(evidence.Operation, found, "", errors.New("is not Node.js"))
	}
	return &project.Runtime{Path: strings.TrimSpace(exe), Version: major}, nil
}
