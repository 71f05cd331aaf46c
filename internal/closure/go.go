package closure

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/foreign"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/project"
)

// GoCommand is one run of the go command.
type GoCommand struct {
	Tool     foreign.Tool // decides which of the user's variables pass
	Path     string       // of go itself
	Dir      string       // a directory of Hallmark's own to run it in
	Subject  string       // of errors
	Settings []string     // variables, set after those that Tool lets pass
	Args     []string
}

// RunGo runs the go command and returns what it prints.
func RunGo(ctx context.Context, h *host.Host, c GoCommand) ([]byte, error) {
	out, err := foreign.Run(ctx, foreign.Call{
		Tool: c.Tool, Path: c.Path, Args: c.Args, Dir: c.Dir, Checkout: Checkout(h), Environ: h.Environ,
		Set: append([]string{"GO111MODULE=on", "GOWORK=off", "GOTOOLCHAIN=local", "GOTELEMETRY=off", "GOFLAGS=",
			"GIT_TERMINAL_PROMPT=0"}, c.Settings...),
	})
	if err == nil || ctx.Err() != nil {
		return out.Stdout, context.Cause(ctx)
	}
	kind, output := evidence.Operation, append(slices.Clone(out.Messages), out.Stdout...)
	if bytes.Contains(output, []byte("checksum mismatch")) {
		kind = evidence.Integrity // found by go itself, before the bytes were ours to hash
	}
	return out.Stdout, &evidence.Error{Subject: c.Subject, Kind: kind, Err: fmt.Errorf("go %s: %w", c.Args[0], err),
		Detail: OutputDetail("go", out.Messages)}
}

// FindGo asks the go in path for its version and for the root of its toolchain.
func FindGo(ctx context.Context, w *workspace.Workspace, path string) (*project.Runtime, error) {
	dir, remove, err := WorkDir(w.Host, "ask-")
	if err != nil {
		return nil, err
	}
	defer remove()
	found, err := Checkout(w.Host).Find(path, "go")
	if err != nil {
		return nil, NotFoundError(err, "go", "install Go")
	}
	out, err := RunGo(ctx, w.Host, GoCommand{
		Tool: foreign.Question, Path: found, Dir: dir, Subject: found,
		Settings: []string{"PATH=" + path, "GOENV=off"}, Args: []string{"env", "-json", "GOROOT", "GOVERSION"},
	})
	if err != nil {
		return nil, err
	}
	var answer struct{ GOROOT, GOVERSION string }
	if err := json.Unmarshal(out, &answer); err != nil || !filepath.IsAbs(answer.GOROOT) ||
		!strings.HasPrefix(answer.GOVERSION, "go") {
		return nil, evidence.Errorf(evidence.Operation, found, "", errors.Join(errors.New("is no go"), err))
	}
	return &project.Runtime{Path: answer.GOROOT, Version: answer.GOVERSION}, nil
}
