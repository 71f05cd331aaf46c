package pin

import (
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/project"
)

// lockFiles returns the changes that write the lock and this machine's approvals. It removes a lock
// that accepts nothing, which is equal to a missing one.
func lockFiles(w *workspace.Workspace) ([]durable.File, error) {
	lock, err := w.Lock.Encode()
	if err != nil {
		return nil, err
	}
	approvals, err := w.Approvals.Encode()
	locked := durable.File{Path: w.Path(project.LockFile), Data: lock, Perm: 0o644}
	if len(w.Lock.Servers()) == 0 && len(w.Lock.Facets()) == 0 {
		locked = durable.File{Path: locked.Path, Remove: true}
	}
	return []durable.File{
		locked,
		{Path: w.ApprovalsPath(), Data: approvals, Perm: 0o600},
	}, err
}
