package evidence_test

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
)

// A claim is set beside what was computed from the bytes. Whether a mismatch is fatal is not decided here: that is
// for package policy.
func ExampleCompare() {
	claim, bad, ok := evidence.ParseClaim(
		evidence.Claim{Subject: "server.tar.gz", Scheme: evidence.File, Authority: evidence.Publisher,
			Where: "server.json"},
		"sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
	)
	if !ok {
		fmt.Println(bad.Reason) // the text is no digest, or of an algorithm that nobody here computes
		return
	}
	for _, content := range []string{"abc", "abd"} {
		e := evidence.Compare(claim, evidence.Observed{
			Digests: []digest.Digest{digest.FromBytes([]byte(content))}, Size: int64(len(content)),
			From: "server.tar.gz",
		})
		fmt.Println(e.Outcome)
	}
	// Output:
	// match
	// mismatch
}

// Four outcomes say that a claim was not compared, and none of them is a match: nobody claims anything, somebody was
// told to expect a claim, somebody opted out, and nothing could be computed.
func ExampleReport_WriteText() {
	claim := evidence.Claim{Subject: "notes", Scheme: evidence.File, Authority: evidence.Lock}
	report := evidence.Report{
		evidence.Compare(claim, evidence.Observed{}),
		evidence.Miss(claim, evidence.Project, "hallmark.toml declares it", "run 'hallmark pin notes'"),
		evidence.Waive(claim, evidence.Observed{}, "unlocked = true in hallmark.toml"),
		evidence.CannotVerify(claim, evidence.Unreachable, "no route to host"),
	}
	if err := report.WriteText(os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// absent        notes  sha256  (nobody claims it)
	// missing       notes  sha256  (lock)
	//   reason   hallmark.toml declares it
	//   owed     by the project (hallmark.toml)
	// waived        notes  sha256  (lock)
	//   reason   unlocked = true in hallmark.toml
	// unverifiable  notes  sha256  (lock)
	//   reason   no route to host
}

// The JSON of a piece of evidence is one flat object, whose names are stable.
func ExampleEvidence_MarshalJSON() {
	e := evidence.Fact(evidence.Claim{
		Subject: "io.github.acme/notes@1.4.0", Scheme: evidence.Status, Authority: evidence.Record, Text: "active",
	}, "deleted")
	text, err := json.Marshal(e)
	fmt.Println(string(text), err)
	// Output:
	// {"subject":"io.github.acme/notes@1.4.0","scheme":"status","outcome":"mismatch","authority":"record","expected":"active","actual":"deleted"} <nil>
}

// An error names its class, which decides the exit code, wherever it stands among those that wrap it.
func ExampleClassOf() {
	err := evidence.Errorf(evidence.Integrity, "notes", "find out who changed it", fmt.Errorf("was changed"))
	fmt.Println(evidence.ClassOf(fmt.Errorf("start notes: %w", err)))
	fmt.Println(evidence.ClassOf(os.ErrNotExist))
	fmt.Println(err)
	// Output:
	// integrity
	// operation
	// notes: was changed
	//   hint: find out who changed it
}
