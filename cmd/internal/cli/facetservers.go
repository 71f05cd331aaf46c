package cli

import (
	"fmt"
	"io"

	"github.com/hallmark-mcp/hallmark/internal/facets"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

// serverChangeJSON is a server of add, install, upgrade and remove. Outcome comes from
// [facets.ServerChange]; status says what its source has, if it was asked.
type serverChangeJSON struct {
	Name    string              `json:"name"`
	Facet   string              `json:"facet,omitempty"` // that declares it
	Outcome string              `json:"outcome"`
	Why     string              `json:"why,omitempty"` // it was skipped
	Before  *project.ServerLock `json:"before,omitempty"`
	After   *project.ServerLock `json:"after,omitempty"`
	Changes []surface.Change    `json:"changes,omitempty"`
	Unseen  bool                `json:"unseen,omitempty"` // nobody let it start, to see what it shows
}

func serverChanges(all []facets.ServerChange) []serverChangeJSON {
	out := []serverChangeJSON{}
	for _, c := range all {
		out = append(out, serverChangeJSON{c.Name, c.Facet, c.Outcome, c.Why, c.Before, c.After, c.Changes, c.Unseen})
	}
	return out
}

// showSkippedServers prints which servers of facets were not pinned, and what pins them.
func showSkippedServers(w io.Writer, out *facets.Installation) {
	subjects := out.Servers // in the order of the changes
	for _, c := range out.ServerChanges {
		if c.Outcome != facets.ServerSkipped {
			continue
		}
		how := "to use it declare it under [providers.mcp] and run 'hallmark pin'"
		switch c.Why {
		case facets.LeftOut:
			how = "'hallmark install' without --no-servers pins it"
		case facets.OfAnother:
			how = "'hallmark install' pins it"
		}
		fmt.Fprintf(w, "note: %s is an MCP server that was not pinned; %s\n", surface.Escape(subjects[0]), how)
		subjects = subjects[1:]
	}
}
