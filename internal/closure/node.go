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
	return AskRuntime(ctx, w, "Node.js", 1, Question{
		Path: found, Set: []string{"PATH=" + path},
		Args: []string{"-p", `process.execPath + "\n" + process.versions.node`},
	})
}

// AskRuntime asks an interpreter, which errors call name, for its own executable and its version, a line each. That is
// cut to so many of its numbers.
func AskRuntime(ctx context.Context, w *workspace.Workspace, name string, numbers int,
	q Question) (*project.Runtime, error) {
	answer, err := Ask(ctx, w.Host, q)
	if err != nil {
		return nil, &evidence.Error{Kind: evidence.Operation, Subject: q.Path, Err: err,
			Detail: OutputDetail(filepath.Base(q.Path), answer.Messages),
			Hint:   silentHint(q.Path, "run it by hand: it must start")}
	}
	exe, version, ok := strings.Cut(strings.TrimSpace(string(answer.Stdout)), "\n")
	parts := strings.Split(strings.TrimSpace(version), ".")
	if exe = strings.TrimSpace(exe); !ok || !filepath.IsAbs(exe) || len(parts) < 2 || parts[0] == "" {
		return nil, evidence.Errorf(evidence.Operation, q.Path, "", errors.New("is not "+name))
	}
	return &project.Runtime{Path: exe, Version: strings.Join(parts[:numbers], ".")}, nil
}
