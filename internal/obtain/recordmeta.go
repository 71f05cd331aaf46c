package obtain

import "github.com/hallmark-mcp/hallmark/internal/registry"

// Meta is what the registry says of the record beside its document. Only what the report has evidence
// of is proven.
func (r *Record) Meta() registry.Meta { return r.meta }
