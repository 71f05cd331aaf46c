package policy

import (
	"slices"

	"github.com/hallmark-mcp/hallmark/evidence"
)

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

// rule is a row of the table: what each outcome of evidence under a scheme and by an authority
// means in some flows, and what to do next about what it refuses.
type rule struct {
	flows     []Flow
	scheme    evidence.Scheme
	authority evidence.Authority
	does      cells
	hint      hint // nil: nothing of its own
	plugin    hint // of flows Validate and Plugin, in which hint is not printed
}

// cells are what the outcomes mean, in the order of the table's columns.
type cells struct {
	match, mismatch, absent, waived, unverifiable decision
	missing                                       decision // never a warning
}

// rows are all rows of the table, each once for all flows that share it.
var rows = slices.Concat(recordRows, archiveRows, logRows, lockRows, machineRows, pluginRows)

// table is the source of the table in the package comment; a test keeps the two
// equal. Evidence without a rule is refused.
var table = rulesByFlow(rows)

func rulesByFlow(rows []rule) map[Flow][]rule {
	byFlow := map[Flow][]rule{}
	for _, r := range rows {
		for _, flow := range r.flows {
			byFlow[flow] = append(byFlow[flow], r)
		}
	}
	return byFlow
}

// findRule returns the rule for e in flow, if there is one.
func findRule(flow Flow, e evidence.Evidence) (rule, bool) {
	for _, r := range table[flow] {
		if r.scheme == e.Scheme && r.authority == e.Authority {
			return r, true
		}
	}
	return rule{}, false
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
