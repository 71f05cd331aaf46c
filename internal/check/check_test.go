package check

import (
	"fmt"
	"slices"
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
)

// Of rows about proofs, keys and surfaces that say the same the last one is kept, of
// others all.
func TestOnce(t *testing.T) {
	row := func(subject string, by evidence.Authority, scheme evidence.Scheme, o evidence.Outcome, reason string) evidence.Evidence {
		return evidence.Evidence{Claim: evidence.Claim{Subject: subject, Authority: by, Scheme: scheme}, Outcome: o, Reason: reason}
	}
	var got []string
	for _, e := range dropRepeated(evidence.Report{
		row("a", evidence.Log, evidence.Proof, evidence.Match, "1"),
		row("a", evidence.Lock, evidence.File, evidence.Match, "2"),
		row("a", evidence.Log, evidence.Proof, evidence.Mismatch, "3"),
		row("b", evidence.Log, evidence.Proof, evidence.Match, "4"),
		row("a", evidence.Log, evidence.Document, evidence.Match, "5"),
		row("k", evidence.Machine, evidence.LogKey, evidence.Match, "6"),
		row("a", evidence.Lock, evidence.File, evidence.Match, "7"),
		row("k", evidence.Machine, evidence.LogKey, evidence.Match, "8"),
		row("s", evidence.Lock, evidence.Surface, evidence.Mismatch, "9"),
		row("a", evidence.Log, evidence.Proof, evidence.Match, "10"),
		row("s", evidence.Lock, evidence.Surface, evidence.Mismatch, "11"),
	}) {
		got = append(got, e.Reason)
	}
	if want := []string{"2", "3", "4", "5", "7", "8", "10", "11"}; !slices.Equal(got, want) {
		t.Error(fmt.Sprint(got))
	}
}
