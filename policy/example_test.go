package policy_test

import (
	"errors"
	"fmt"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/policy"
)

// A verdict that refuses is an error, which names what was claimed and by whom, what was found, and what to do next.
func ExampleJudge() {
	claim := evidence.Claim{
		Subject: "npm:@acme/notes@1.4.0", Scheme: evidence.File, Authority: evidence.Publisher,
		Want: []digest.Digest{digest.FromBytes([]byte("what was hashed"))}, Where: "server.json, file_hashes",
	}
	observed := evidence.Observed{
		Digests: []digest.Digest{digest.FromBytes([]byte("what is served"))}, Size: 14, From: "notes-1.4.0.tgz",
	}
	verdict := policy.Judge(policy.Verify, policy.Settings{}, evidence.Report{evidence.Compare(claim, observed)})
	fmt.Println(verdict.Allowed(), verdict.Class())
	fmt.Println(verdict.Err())
	// Output:
	// false integrity
	// npm:@acme/notes@1.4.0: sha256 mismatch
	//   expected sha256:3ebe079530feb693b25d794e9bb741aeb27069f2b40fcc2e9bc37aa5e8727ac8  (claimed by server.json, file_hashes)
	//   actual   sha256:d551018ac3c0e4a24030334648622d04b94384de5bacf96c085e4033513a6661  (14 bytes of notes-1.4.0.tgz)
	//   hint: the file changed after hashing, or was hashed elsewhere; run 'hallmark hash-gen server.json' and compare
}

// What an absent claim means depends on the flow, and some of it on settings.
func ExampleSettings() {
	unclaimed := evidence.Report{evidence.Compare(
		evidence.Claim{Subject: "npm:@acme/notes@1.4.0", Scheme: evidence.File, Authority: evidence.Publisher},
		evidence.Observed{Digests: []digest.Digest{digest.FromBytes([]byte("a package"))}},
	)}
	verdict := policy.Judge(policy.Verify, policy.Settings{}, unclaimed)
	fmt.Println(verdict.Allowed(), len(verdict.Warnings()))
	verdict = policy.Judge(policy.Verify, policy.Settings{RequireHashes: true}, unclaimed)
	fmt.Println(verdict.Allowed(), verdict.Class())
	// Output:
	// true 1
	// false policy
}

// Only a verdict makes an Admitted that permits something: those bytes under that subject, for what the flow leads to.
func ExampleAdmitted_Permits() {
	approved := digest.FromBytes([]byte("console.log('notes')"))
	match := evidence.Compare(
		evidence.Claim{Subject: "notes.js", Scheme: evidence.File, Authority: evidence.Lock,
			Want: []digest.Digest{approved}},
		evidence.Observed{Digests: []digest.Digest{approved}},
	)
	admitted := policy.Judge(policy.Launch, policy.Settings{}, evidence.Report{match}).Admitted()

	fmt.Println(admitted.Permits("notes.js", approved, policy.Execute))
	other := digest.FromBytes([]byte("console.log('other')"))
	for _, err := range []error{
		admitted.Permits("notes.js", other, policy.Execute),
		admitted.Permits("notes.js", approved, policy.Publish),
		policy.Admitted{}.Permits("notes.js", approved, policy.Execute),
	} {
		fmt.Println(errors.Is(err, policy.ErrNotAdmitted))
	}
	// Output:
	// <nil>
	// true
	// true
	// true
}
