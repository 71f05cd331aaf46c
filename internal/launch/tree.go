package launch

import (
	"context"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/project"
)

// recordTree remembers with the approval of the entry which tree this machine made of its closure. Without an approval
// it remembers nothing, and the next run installs again.
func (l *Launch) recordTree(ctx context.Context, platform string, tree digest.Digest) {
	w, name := l.Workspace, l.Declared.Name
	if err := w.UpdateApprovals(ctx, func(approvals *project.Approvals) bool {
		a, ok := approvals.Servers[name]
		if !ok || !evidence.Same(a.Entry, l.Entry.Approvable()) {
			return false
		}
		a.Remember(*l.Entry.Closure, platform, tree)
		approvals.Servers[name] = a
		return true
	}); err != nil {
		w.Host.Logger.Warn("noting what was installed", "error", err)
	}
}
