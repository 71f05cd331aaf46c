package policy

import (
	"slices"

	"github.com/hallmark-mcp/hallmark/evidence"
)

// rows are all rows of the table. A row that several flows share stands once.
var rows = slices.Concat(recordRows, archiveRows, logRows, lockRows, machineRows, pluginRows)

// table has the rows of each flow; docs/policy.md is written from it. Evidence without a
// rule is refused.
var table = rulesByFlow(rows)

func rulesByFlow(rows []rule) map[Flow][]*rule {
	byFlow := map[Flow][]*rule{}
	for i := range rows {
		for _, flow := range rows[i].flows {
			byFlow[flow] = append(byFlow[flow], &rows[i])
		}
	}
	return byFlow
}

// findRule returns the rule for e in flow, if there is one.
func findRule(flow Flow, e evidence.Evidence) (rule, bool) {
	for _, r := range table[flow] {
		if r.scheme == e.Scheme && r.authority == e.Authority {
			return *r, true
		}
	}
	return rule{}, false
}
