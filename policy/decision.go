package policy

import "github.com/hallmark-mcp/hallmark/evidence"

// decision is what one outcome means in one flow. Its class is the class of the
// refusal; OK is no refusal.
type decision struct {
	refuse evidence.Class
	warn   bool
}

var (
	allow     = decision{}
	warn      = decision{warn: true}
	integrity = decision{refuse: evidence.Integrity}
	refused   = decision{refuse: evidence.Refused}
	signature = decision{refuse: evidence.Signature}
	drift     = decision{refuse: evidence.Drift}
	operation = decision{refuse: evidence.Operation}
	invalid   = decision{refuse: evidence.Validation}
)

// cells are what the outcomes mean, in the order of the table's columns.
type cells struct {
	match, mismatch, absent, waived, unverifiable decision
	missing                                       decision // never a warning
}

// of is the cell of an outcome. One that the table has no column for is refused.
func (c cells) of(outcome evidence.Outcome) decision {
	switch outcome {
	case evidence.Match:
		return c.match
	case evidence.Mismatch:
		return c.mismatch
	case evidence.Absent:
		return c.absent
	case evidence.Waived:
		return c.waived
	case evidence.Unverifiable:
		return c.unverifiable
	case evidence.Missing:
		return c.missing
	}
	return refused
}
