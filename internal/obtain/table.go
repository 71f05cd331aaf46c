package obtain

import (
	"context"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/project"
)

// facetSources is the table of all kinds of sources of facets. A kind is a file of this package and a line here, and a
// value and a line in the table of package project.
var facetSources = map[project.SourceKind]facetSource{
	project.FromRegistry: registrySource{},
	project.FromGit:      gitSource{},
	project.FromLocal:    directorySource{},
}

// sourceOf returns the source that a declaration names.
func sourceOf(f project.Facet) facetSource { return facetSources[f.Kind()] }

// FindVersions asks the source of a declared facet what it has now. That a tag was moved since it was
// locked is evidence.
func FindVersions(ctx context.Context, w *workspace.Workspace, f project.Facet,
	locked *project.FacetLock) (Versions, evidence.Report, error) {
	return sourceOf(f).findVersions(ctx, w, f, locked)
}

// Inspect compares what a declaration names on this machine, as it is now, with what was locked of it. It makes no
// request; of a source that is elsewhere it says nothing.
func Inspect(ctx context.Context, w *workspace.Workspace, f project.Facet, locked project.FacetLock) (evidence.Report,
	error) {
	return sourceOf(f).inspect(ctx, w, f, locked)
}

// FindName reads the name of a facet, which is declared without one, where it comes from. It makes no
// request if offline is set.
func FindName(ctx context.Context, w *workspace.Workspace, f project.Facet, offline bool) (string, error) {
	return sourceOf(f).findName(ctx, w, f, offline)
}
