package guard

import (
	"io"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/surface"
)

// Approved is the surface that was approved.
type Approved struct {
	Items   map[string]digest.Digest // by surface.Item.Key: "tool:name", "instructions"
	Exclude map[surface.Kind]bool    // kinds that are not judged
}

// What to do about drift.
const (
	Withhold = "withhold" // leave drifted items out and refuse calls to them
	Block    = "block"    // refuse every call as soon as anything drifted
	Warn     = "warn"     // let everything pass, with a line on standard error
)

// What to do about requests that the server makes of the client, such as sampling,
// elicitation and roots. Pings always pass.
const (
	RequestsAllow = "allow"
	RequestsLog   = "log" // forward, with an audit line
	RequestsDeny  = "deny"
)

// Options say how to guard a server. The zero value approves nothing.
type Options struct {
	Server         string // name for messages: "hallmark review NAME"
	Approved       Approved
	OnDrift        string // Withhold ("" too), Block or Warn
	ServerRequests string // RequestsAllow ("" too), RequestsLog or RequestsDeny

	// Judge decides whether an item may be shown: want is the approved digest, the
	// zero value if there is none. nil means that of Judge.
	Judge func(key string, want, got digest.Digest) error

	// Observed is called after each complete listing that the guard made. It must
	// not block: calls wait meanwhile. It may be nil.
	Observed func(Report)

	Stderr io.Writer // the guard's own lines; nil is none
	Log    io.Writer // one JSON line a call: time, server, method, name, outcome; nil is none

	ListTimeout time.Duration // for one listing by the guard; 0 is 60 s

	// Limits that tests make smaller; 0 is the constant.
	lineLimit   int
	grace, term time.Duration
	rest        time.Duration
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

// Judge is the decision about one item by package policy: it may be shown if it has
// the approved digest.
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
