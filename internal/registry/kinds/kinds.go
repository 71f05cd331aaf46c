package kinds

import "github.com/hallmark-mcp/hallmark/archive"

// All are all kinds of archives.
func All(limits archive.Limits) []Kind {
	return append(Facets(limits), Plugin(limits))
}
