package guard

import (
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/surface"
)

// Approved is the surface that was approved.
type Approved struct {
	Items   map[string]digest.Digest // by surface.Item.Key: "tool:name", "instructions"
	Varying []string                 // keys of items that differ from start to start: never shown, and no drift
	Exclude map[surface.Kind]bool    // kinds that are not judged
}

// Report is what a complete listing by the guard showed.
type Report struct {
	Listing surface.Listing
	Drift   []Drift                 // sorted by key
	Absent  []string                // keys of approved items that this client is not shown, sorted
	Failed  map[surface.Kind]string // kinds that could not be listed or judged, and why
}

// The reasons of a Drift.
const (
	Changed   = "changed since it was approved"
	New       = "new, never approved"
	Duplicate = "given more than once"
	Malformed = "malformed"
)

// Varying is what is said of an item that was captured several times, and was not the same each time.
const Varying = "is not the same at each start, so that it was not approved"

// What is said of an approved item that is not there: by one session, in which a client of
// another kind may be shown it, and by a capture as every kind of client.
const (
	NotShown = "approved, and not shown to this client"
	Gone     = "approved, and shown to no client any more"
)

// Drift is one item that differs from the approved surface.
type Drift struct {
	// Key is surface.Item.Key. For a malformed item without a name it is its kind and
	// place, for one whose name is over 4 KiB its kind and the digest of the name.
	Key       string
	Reason    string // Changed, New, Duplicate or Malformed
	Want, Got digest.Digest
}

// JudgeFunc decides whether the item of key may be shown: want is the approved digest, the zero
// value if there is none.
type JudgeFunc func(key string, want, got digest.Digest) error

// Judge is the decision about one item by package policy: it may be shown if it has the approved
// digest.
func Judge(key string, want, got digest.Digest) error {
	c := evidence.Claim{Subject: key, Scheme: evidence.Surface, Authority: evidence.Lock, Where: "hallmark.lock"}
	if !want.IsZero() {
		c.Want = []digest.Digest{want}
	}
	e := evidence.Compare(c, evidence.Observed{Digests: []digest.Digest{got}})
	v := policy.Judge(policy.Session, policy.Settings{}, evidence.Report{e})
	if err := v.Err(); err != nil {
		return err
	}
	return v.Admitted().Permits(key, got, policy.Show)
}
