package facets

import (
	"context"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/facet"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/obtain"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/project"
)

// Find is what is in a directory or a repository that a declaration without a name names: facets, skills and plugins.
// Nothing is written.
func Find(ctx context.Context, h *host.Host, dir string, f project.Facet, o Options) ([]facet.Item, error) {
	if err := f.Check(); err != nil {
		return nil, evidence.Errorf(evidence.Validation, f.Git+f.Path, "", err)
	}
	w, done, err := workspace.OpenOrBegin(ctx, h, dir, false, true)
	if err != nil {
		return nil, err
	}
	defer done()
	w.Repositories.Join(o.Repositories)
	if f.URL() != "" {
		w.NamedHost = host.HostOfURL(f.URL()) // named on the command line
	}
	return obtain.List(ctx, w, f, o.Offline)
}

// AddFound declares what [Find] found, all or none, and installs all. Names that publishers chose take the place of no
// facet from elsewhere.
func AddFound(ctx context.Context, h *host.Host, dir string, found []project.Facet, o Options) (*Installation, error) {
	return addFacets(ctx, h, dir, o, facetRequest{add: found, found: true})
}
