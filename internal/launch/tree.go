package launch

import (
	"context"
	"maps"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/project"
)

// recordTree stores which tree this machine made of a closure, with its approval. Without an
// approval it stores nothing, and the next run installs again.
func (l *Launch) recordTree(ctx context.Context, platform string, tree digest.Digest) {
	w, name := l.Workspace, l.Declared.Name
	if err := w.HoldFiles(ctx); err != nil {
		w.Host.Logger.Warn("noting what was installed", "error", err)
		return
	}
	defer w.Release()
	data, err := host.ReadFile(w.ApprovalsPath(), project.MaxApprovals)
	if err != nil {
		return
	}
	approvals, err := project.ParseApprovals(data, w.Dir)
	if err != nil {
		return
	}
	a, ok := approvals.Servers[name]
	if !ok || !evidence.Same(a.Entry, l.Entry.Approvable()) {
		return
	}
	a.Trees = maps.Clone(a.Trees)
	if a.Trees == nil {
		a.Trees = map[string]digest.Digest{}
	}
	a.Trees[platform] = tree
	approvals.Servers[name] = a
	if data, err = approvals.Encode(); err == nil {
		err = durable.WriteFile(w.ApprovalsPath(), data, 0o600)
	}
	if err != nil {
		w.Host.Logger.Warn("noting what was installed", "error", err)
	}
}
