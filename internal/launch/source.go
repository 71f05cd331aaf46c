package launch

import (
	"context"

	"github.com/hallmark-mcp/hallmark/internal/obtain"
	"github.com/hallmark-mcp/hallmark/internal/program"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/project"
)

// prepareSource gets the locked archive of a server into the store, if it is not there,
// and makes it startable.
func (l *Launch) prepareSource(ctx context.Context, approval project.Approval) (*program.Program, error) {
	a, err := obtain.Open(l.Workspace, l.Logs, obtain.Options{})
	if err != nil {
		return nil, err
	}
	r := l.Entry.Record
	locked := &project.FacetLock{
		Version: r.Version, Source: project.SourceLock{Kind: project.FromRegistry, Registry: r.Registry},
		Integrity: l.Entry.Artifacts[l.Entry.Ref],
	}
	x, report, err := a.Obtain(ctx, obtain.Request{
		Kind: ledger.Artifact, Want: project.Facet{Name: r.Name}, Locked: locked,
	})
	l.report = append(l.report, report...)
	if err != nil {
		return nil, err
	}
	if err := obtain.CheckStart(x.Source, *l.Entry); err != nil {
		return nil, err
	}
	prog, err := program.OpenSource(ctx, l.Workspace,
		program.Packed{Name: l.Declared.Name, Entry: *l.Entry, Slot: x.Slot}, approval)
	if prog != nil {
		l.report = append(l.report, prog.Report...)
	}
	return prog, err
}
