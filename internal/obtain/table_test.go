package obtain

import (
	"slices"
	"testing"

	"github.com/hallmark-mcp/hallmark/project"
)

// TestFacetSources: each kind of source of which a facet can be declared has its flows, and no other does.
func TestFacetSources(t *testing.T) {
	known := project.SourceKinds()
	for _, name := range known {
		if facetSources[name] == nil {
			t.Errorf("no flow knows facets of the source %q", name)
		}
	}
	for name := range facetSources {
		if !slices.Contains(known, name) {
			t.Errorf("no facet can be declared of the source %q", name)
		}
	}
}
