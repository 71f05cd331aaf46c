package obtain

import (
	"context"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/project"
)

// facetSource is what the flows do with facets of one kind of source.
type facetSource interface {
	// obtain gets a facet into the store. The locked entry binds; it is nil for a facet that is resolved anew.
	obtain(ctx context.Context, s *Sources, r Request, locked *project.FacetLock, q *inquiry) (stored, error)

	// findVersions asks what the source has of a declared facet now. That a tag was moved since it was locked is
	// evidence.
	findVersions(ctx context.Context, w *workspace.Workspace, f project.Facet,
		locked *project.FacetLock) (Versions, evidence.Report, error)

	// findName reads the name of a facet that is to be declared. It makes no request if offline is set.
	findName(ctx context.Context, w *workspace.Workspace, f project.Facet, offline bool) (string, error)
	// inspect compares what the declaration names on this machine with what was locked of it; it is nil for a source
	// that is elsewhere. It makes no request.
	inspect(context.Context, *workspace.Workspace, project.Facet, project.FacetLock) (evidence.Report, error)
}

// elsewhere is part of a source that is not on this machine.
type elsewhere struct{}

// inspect says nothing.
func (elsewhere) inspect(context.Context, *workspace.Workspace, project.Facet, project.FacetLock) (evidence.Report,
	error) {
	return nil, nil
}

// Versions are what the source of a facet has now; empty what it does not tell.
type Versions struct {
	Wanted string // newest version that the declaration allows, or the commit
	Newest string // newest version of all
}
