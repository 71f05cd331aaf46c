package workspace

import (
	"path/filepath"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

// MadeTree returns the tree that this machine installed of a closure for a platform, as its approvals of this or of
// another project say; zero if none do. Approvals that cannot be read say nothing.
func (w *Workspace) MadeTree(c project.ClosureLock, platform string) digest.Digest {
	files, err := filepath.Glob(filepath.Join(w.Host.Places.State, "projects", "*", "approvals.json"))
	if err != nil {
		return digest.Digest{}
	}
	for _, file := range append([]string{w.ApprovalsPath()}, files...) {
		var named project.Approvals
		data, err := host.ReadFile(file, project.MaxApprovals)
		if err != nil || data == nil || surface.Decode(data, &named) != nil ||
			filepath.Dir(file) != ProjectState(w.Host, named.Project) {
			continue
		}
		approvals, err := project.ParseApprovals(data, named.Project)
		if err != nil {
			continue
		}
		for _, a := range approvals.Servers {
			if made := a.MadeTrees(c)[platform]; !made.IsZero() {
				return made
			}
		}
	}
	return digest.Digest{}
}
