package registry

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/serverjson"
)

// Limits of a page of records.
const (
	DefaultLimit = 30
	MaxLimit     = 100
	// PageBytes is how many bytes of documents and evidence a page may hold before
	// it ends early. One record, which is smaller, is always given.
	PageBytes = 4 << 20
	// MaxVersions is how many versions a name may have.
	MaxVersions = 10_000
	// Latest stands for a name's latest version wherever a version is asked for.
	// No document can have it as its version.
	Latest = "latest"
)

// Status is the life of a record as its publisher declares it.
type Status string

// The statuses.
const (
	Active     Status = "active"
	Deprecated Status = "deprecated"
	Deleted    Status = "deleted"
)

// Record is one published version of one server. Everything but the status, and
// whether it is the latest, stays as it was inserted.
type Record struct {
	Name     string
	Version  string
	Document json.RawMessage // server.json as it was published
	Digest   digest.Digest   // sha256 of the canonical form of Document

	// What was recomputed at the publish, when, and by which build. Evidence is a
	// JSON array in the form of package evidence. VerifiedAt is zero if nothing
	// was checked.
	Evidence   json.RawMessage
	VerifiedAt time.Time
	Build      string

	Status          Status
	StatusMessage   string // at most MaxStatusMessage characters
	StatusChangedAt time.Time
	PublishedAt     time.Time
	UpdatedAt       time.Time
	IsLatest        bool // computed by Insert

	// Where the record was imported from, and when: a registry's URL or the name of a
	// file. Empty and zero if it was published here.
	Origin     string
	ImportedAt time.Time

	// Publisher is the subject that publishes, for the entry in the log. Only Insert reads it: it
	// is not kept with the record. "" is an anonymous publisher.
	Publisher string

	Findings []Finding // the newest MaxFindings, newest first; Insert ignores them

	// Set by Insert.
	Answer    []byte `json:"-"` // as AppendEnvelope returns it; nil if it was not rendered
	Entry     int64  `json:"-"` // index in the log
	EntryText []byte `json:"-"` // its entry there

	summed []byte // the bytes that Digest was computed of; nil if not known
}

// WithDigest returns r with the digest of its document's canonical form, which the caller has
// computed: [Admit] does not compute it again.
func (r Record) WithDigest(d digest.Digest) Record {
	r.Digest, r.summed = d, r.Document
	return r
}

// Subject is the record's name in evidence and in what is admitted.
func (r Record) Subject() string { return r.Name + "@" + r.Version }

// Cursor is where a page ends whose last record is r.
func (r Record) Cursor() Cursor { return Cursor{Name: r.Name, Version: r.Version} }

// PageSize is how many bytes r takes of a page.
func (r Record) PageSize() int {
	n := len(r.Document) + len(r.Evidence)
	for _, f := range r.Findings {
		n += len(f.Evidence)
	}
	return n
}

// Query selects the records of a list. Its zero value selects all that are not deleted.
type Query struct {
	Search       string    // part of the name, in which ASCII letters match either case
	Version      string    // exact, or Latest
	UpdatedSince time.Time // inclusive
	Deleted      bool      // records with the status deleted too
	Limit        int       // records in a page; 0 is DefaultLimit, more than MaxLimit is MaxLimit
	Cursor       string    // where the page before ended
}

// PageLimit is how many records a page has at most.
func (q Query) PageLimit() int {
	if q.Limit <= 0 {
		return DefaultLimit
	}
	return min(q.Limit, MaxLimit)
}

// Records keeps what was published. Implementations are safe for concurrent use, by
// several processes too, and pass the same conformance suite.
//
// Times are kept in microseconds, in UTC. A method that was not cancelled by its
// context returns one of the errors below or one of the database.
type Records interface {
	// Insert adds a record if the admission permits to publish its subject with its
	// digest, and if that is the digest of its document; otherwise it returns the
	// admission's error and changes nothing. A name and version that exist return
	// the record they have, unchanged, and ErrExists: of several concurrent inserts
	// exactly one succeeds. Whether the record is its name's latest is decided in
	// the same transaction, in which its entry is appended to the log. The record is on
	// disk when Insert returns; if it returns
	// another error, or the context's, it may have been inserted or not, never in part.
	Insert(context.Context, policy.Admitted, Record) (Record, error)

	// Get returns one record, or ErrNotFound. Version may be Latest.
	Get(ctx context.Context, name, version string) (Record, error)

	// Versions returns a page of the records of one name, newest first, and the
	// cursor of the next page or "". A name without records is ErrNotFound.
	Versions(ctx context.Context, name, cursor string) (page []Record, next string, err error)

	// List returns a page ordered by the bytes of name and then of version, and the
	// cursor of the next page or "". Following cursors visits each record that was
	// there from the start exactly once, whatever is inserted meanwhile. A page may
	// hold fewer records than its limit when they are large. Reads never wait for
	// inserts.
	List(context.Context, Query) (page []Record, next string, err error)

	// AppendRecord is Get, and AppendPage is List, for callers that need only the answer of
	// the API: they append the JSON of an Envelope for each record, with commas between, to
	// dst. An implementation may encode it once, at the insert. On an error dst is returned as
	// it was. For AppendRecord a record with the status deleted is ErrNotFound unless deleted
	// is true.
	AppendRecord(ctx context.Context, dst []byte, name, version string, deleted bool) ([]byte, error)
	AppendPage(ctx context.Context, dst []byte, q Query) (answer []byte, count int, next string, err error)
}

// Errors of [Records].
var (
	ErrExists   = errors.New("version exists")
	ErrNotFound = errors.New("not found")
	ErrCursor   = errors.New("malformed cursor")
	ErrTooMany  = fmt.Errorf("a name has at most %d versions", MaxVersions)
	// ErrUnavailable is wrapped by errors that pass: a database or bucket that is restarting,
	// out of connections or out of reach.
	ErrUnavailable = errors.New("storage unavailable")
)

// Admit is the first step of every Insert: it demands that a permits to publish rec,
// and that rec's digest fits its document.
func Admit(a policy.Admitted, rec Record) error {
	if err := a.Permits(rec.Subject(), rec.Digest, policy.Publish); err != nil {
		return err
	}
	if n := len(rec.summed); n > 0 && n == len(rec.Document) && &rec.summed[0] == &rec.Document[0] {
		return nil // WithDigest was given the digest of the same bytes
	}
	canonical, err := serverjson.Canonical(rec.Document)
	if err != nil {
		return fmt.Errorf("record %+q: %w", rec.Subject(), err)
	}
	if !evidence.Same(rec.Digest, digest.FromBytes(canonical)) {
		return fmt.Errorf("record %+q: the digest is not that of its document", rec.Subject())
	}
	return nil
}

// Normal returns r as a database keeps it: times in microseconds, defaults filled in, and without
// findings.
func (r Record) Normal() Record {
	for _, t := range []*time.Time{&r.VerifiedAt, &r.StatusChangedAt, &r.PublishedAt, &r.UpdatedAt, &r.ImportedAt} {
		if !t.IsZero() {
			*t = t.UTC().Truncate(time.Microsecond)
		}
	}
	r.Status = cmp.Or(r.Status, Active)
	if len(r.Evidence) == 0 {
		r.Evidence = json.RawMessage("[]")
	}
	r.Findings = nil
	return r
}

// Storable reports whether PostgreSQL can hold the texts. A record cannot have a key that it cannot hold.
func Storable(text ...string) bool {
	for _, s := range text {
		if strings.Contains(s, "\x00") || strings.ToValidUTF8(s, "") != s {
			return false
		}
	}
	return true
}

// LowerASCII is s with ASCII letters in lower case, as lower() of the collation "C".
func LowerASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + ('a' - 'A')
		}
		return r
	}, s)
}
