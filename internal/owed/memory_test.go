package owed

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
)

// Without hallmark.toml all that the machine accepted is owed, as one with all names, and no
// flow that opens a project, or looks for one, lets it pass.
func TestRemovedOwesEverything(t *testing.T) {
	at := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	memory := project.NewApprovals("/p")
	if l := FromMemory(memory, "hallmark forget "); len(l) != 0 {
		t.Errorf("nothing was accepted: %+v", l)
	}
	memory.Servers["a"] = project.Approval{Entry: some, At: at}
	memory.Unlocked["a"] = project.Approval{Entry: some, At: at}
	memory.Unlocked["b"] = project.Approval{Entry: some, At: at}
	memory.Facets["c"] = project.AcceptedFacet{Version: "1.0.0", Integrity: some, At: at}
	report := FromMemory(memory, "hallmark forget ").Settle(nil)
	if len(report) != 1 {
		t.Fatalf("%+v", report)
	}
	for _, e := range report {
		if e.Outcome != evidence.Missing || !slices.Equal(e.Owed, []evidence.Authority{evidence.Machine}) ||
			e.Subject != "a, b, c" || e.Scheme != evidence.Launch ||
			!strings.HasSuffix(e.Fix, "with 'hallmark forget --all'") {
			t.Errorf("%+v", e)
		}
		for _, flow := range []policy.Flow{policy.Scan, policy.Check} {
			if class := policy.Judge(flow, policy.Settings{}, evidence.Report{e}).Findings[0].Class; class !=
				evidence.Refused {
				t.Errorf("%s: %s is %s", flow, e.Subject, class)
			}
		}
	}
	clear(memory.Servers)
	clear(memory.Unlocked)
	if report := FromMemory(memory, "hallmark forget ").Settle(nil); len(report) != 1 ||
		report[0].Scheme != evidence.Source {
		t.Errorf("of facets alone: %+v", report)
	}
}
