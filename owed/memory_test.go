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

// Without hallmark.toml all that the machine accepted is owed, each name once for what it is, and
// no flow that opens a project, or looks for one, lets it pass.
func TestRemovedOwesEverything(t *testing.T) {
	at := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	memory := project.NewApprovals("/p")
	if l := FromMemory(memory, "hallmark forget "); len(l) != 0 {
		t.Errorf("nothing was accepted: %+v", l)
	}
	memory.Servers["a"] = project.Approval{Entry: some, At: at}
	memory.Unlocked["a"] = project.Approval{Entry: some, At: at}
	memory.Unlocked["b"] = project.Approval{Entry: some, At: at}
	memory.Facets["a"] = project.AcceptedFacet{Version: "1.0.0", Integrity: some, At: at}
	report := FromMemory(memory, "hallmark forget ").Settle(nil)
	var got []string
	for _, e := range report {
		if e.Outcome != evidence.Missing || !slices.Equal(e.Owed, []evidence.Authority{evidence.Machine}) ||
			!strings.HasSuffix(e.Fix, "'hallmark forget "+e.Subject+"', or all with 'hallmark forget --all'") ||
			!strings.Contains(e.Reason, "2026-11-01 00:00:00Z") {
			t.Errorf("%+v", e)
		}
		got = append(got, e.Subject+" "+string(e.Scheme))
		for _, flow := range []policy.Flow{policy.Scan, policy.Check} {
			if class := policy.Judge(flow, policy.Settings{}, evidence.Report{e}).Findings[0].Class; class !=
				evidence.Refused {
				t.Errorf("%s: %s is %s", flow, e.Subject, class)
			}
		}
	}
	if want := []string{"a launch", "b launch", "a source"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
