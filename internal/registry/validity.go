package registry

import "github.com/hallmark-mcp/hallmark/serverjson"

// Validity is the answer to a document that was sent for validation only.
type Validity struct {
	Valid  bool              `json:"valid"`
	Issues serverjson.Issues `json:"issues"` // warnings too
}
