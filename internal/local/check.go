package local

import (
	"context"
	"maps"
	"slices"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/program"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/project"
)

// CheckEntry compares a local command with its lock entry without starting it. A command that 'run' would
// refuse to open is evidence, not an error.
func CheckEntry(ctx context.Context, w *workspace.Workspace, s project.Server, entry project.ServerLock,
	approval project.Approval) (evidence.Report, error) {
	path := approval.Path
	if path == "" {
		path = w.Host.Getenv("PATH")
	}
	p, err := OpenLocked(ctx, w, s, &entry, project.Approval{Path: path, Runtime: approval.Runtime})
	if p != nil {
		defer p.Close()
	}
	if err != nil {
		c := evidence.Claim{
			Subject: entry.Ref, Scheme: evidence.File, Authority: evidence.Lock,
			Want: []digest.Digest{entry.Artifacts[entry.Ref]}, Where: project.LockFile,
		}
		if evidence.ClassOf(err) == evidence.Refused { // as run would
			c.Scheme, c.Want, c.Text = evidence.Unhashed, nil, "a program that 'run' would start"
		}
		return evidence.Report{evidence.CannotVerify(c, evidence.Unreadable, err.Error())}, nil
	}
	return append(p.Report, MissingArtifacts(entry, p)...), nil
}

// MissingArtifacts returns evidence of the files of entry that p, opened from the declaration, does not use.
func MissingArtifacts(entry project.ServerLock, p *program.Program) evidence.Report {
	var report evidence.Report
	for _, key := range slices.Sorted(maps.Keys(entry.Artifacts)) {
		if _, ok := p.Artifacts[key]; !ok {
			report = append(report, evidence.CannotVerify(evidence.Claim{
				Subject: key, Scheme: evidence.File, Authority: evidence.Lock,
				Want: []digest.Digest{entry.Artifacts[key]}, Where: project.LockFile,
			}, evidence.NotFound, "the command line does not use it, or it is gone"))
		}
	}
	return report
}
