package policy

import "github.com/hallmark-mcp/hallmark/evidence"

// rule is a row of the table: what each outcome of evidence under a scheme and by an authority
// means in some flows, and what to do next about what it refuses.
type rule struct {
	flows     []Flow
	scheme    evidence.Scheme
	authority evidence.Authority
	does      cells
	hint      hint // nil: nothing of its own
	plugin    hint // replaces hint in flows Validate and Plugin
}
