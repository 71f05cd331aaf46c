package workspace

import (
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/project"
)

// Hints name only what commands find by its name: servers and facets that are declared.
func TestEntriesNamed(t *testing.T) {
	w := &Workspace{Lock: &project.Lock{}, Approvals: &project.Approvals{}, Config: &project.Config{
		Servers: map[string]project.Server{"notes": {Name: "notes"}},
		Facets:  map[string]project.Facet{"kit": {Name: "kit"}},
	}}
	for of, want := range map[evidence.Entry]evidence.Entry{
		w.ServerEntry("notes"): {Server: "notes"}, w.ServerEntry("gone"): {},
		w.FacetEntry("kit"): {Facet: "kit"},
	} {
		if of != want {
			t.Errorf("%+v, want %+v", of, want)
		}
	}
	if of := w.FacetEntry("brought"); of != (evidence.Entry{}) {
		t.Errorf("%+v of a facet that another one brings along", of)
	}
}
