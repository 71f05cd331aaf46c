package tool

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

// RunGo runs the go command in dir, of ours, and gives what it prints. settings come
// after what tool lets through.
func RunGo(ctx context.Context, h *host.Host, tool foreign.Tool, bin, dir, subject string, settings []string, args ...string) ([]byte, error) {
	out, err := foreign.Run(ctx, foreign.Call{
		Tool: tool, Path: bin, Args: args, Dir: dir, Checkout: Checkout(h), Environ: h.Environ,
		Set: append([]string{"GO111MODULE=on", "GOWORK=off", "GOTOOLCHAIN=local", "GOTELEMETRY=off", "GOFLAGS=", "GIT_TERMINAL_PROMPT=0"}, settings...),
	})
	if err == nil || ctx.Err() != nil {
		return out.Stdout, context.Cause(ctx)
	}
	kind, output := evidence.Operation, append(slices.Clone(out.Messages), out.Stdout...)
	if bytes.Contains(output, []byte("checksum mismatch")) {
		kind = evidence.Integrity // found by go itself, before the bytes were ours to hash
	}
	return out.Stdout, &evidence.Error{Subject: subject, Kind: kind, Err: fmt.Errorf("go %s: %w", args[0], err), Detail: OutputDetail("go", out.Messages)}
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
	out, err := RunGo(ctx, w.Host, foreign.Question, found, dir, found, []string{"PATH=" + path, "GOENV=off"}, "env", "-json", "GOROOT", "GOVERSION")
	if err != nil {
		return nil, err
	}
	var answer struct{ GOROOT, GOVERSION string }
	if err := json.Unmarshal(out, &answer); err != nil || !filepath.IsAbs(answer.GOROOT) || !strings.HasPrefix(answer.GOVERSION, "go") {
		return nil, evidence.Errorf(evidence.Operation, found, "", errors.Join(errors.New("is no go"), err))
	}
	return &project.Runtime{Path: answer.GOROOT, Version: answer.GOVERSION}, nil
}
