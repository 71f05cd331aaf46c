package facets

import (
	"github.com/hallmark-mcp/hallmark/internal/installed"
	"github.com/hallmark-mcp/hallmark/internal/pin"
	"github.com/hallmark-mcp/hallmark/policy"
)

// Installation is what became, or would become, of a project's facets.
type Installation struct {
	Verdict policy.Verdict
	Facets  []Change // of all that are or were locked, by name
	Targets []string
	Files   []string // that were written, relative to the project
	Deleted []string
	Kept    []string // that a user edited, and that stay as they are
	// Unwanted are the files of Kept that are not to be installed any more.
	Unwanted []string
	Left     []string      // of no facet any more, that were there before, and stay
	Extra    []string      // that lie in the directory of a skill and are of no facet, and stay
	Servers  []string      // that facets declare and that were not pinned, as "FACET: SERVER"
	Pinned   []*pin.Pinned // servers that facets declare and that were looked at

	ServerChanges []ServerChange // of all that facets declare, by name

	Clients []string         // files of clients that changed and start servers of facets, relative to the project
	Stopped []string         // files of clients that changed and start none of them any more
	Notes   []installed.Note // what clients do not get of the facets
	Written bool             // something was changed
}
