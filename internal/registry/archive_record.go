package registry

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/serverjson"
)

// ArchiveRecord is one published version of one archive: a facet, a server that was
// packed from source, or a plugin. Everything but the status, and whether it is the
// latest, stays as it was inserted.
type ArchiveRecord struct {
	Kind    string `json:"kind"` // as package ledger names it: "facet", "artifact" or "plugin"
	Name    string `json:"name"`
	Version string `json:"version"`

	ContentIntegrity digest.Digest `json:"content_integrity"` // fingerprint of the contents
	// of the archive's bytes, under which they are kept
	ContentHash digest.Digest            `json:"content_hash"`
	Size        int64                    `json:"size_bytes"` // of the archive
	Manifest    json.RawMessage          `json:"manifest"`   // as the archive has it, save for white space
	Assets      map[string]digest.Digest `json:"assets"`     // of each member, by path

	// APISurface is what the publisher claims about a server that was packed from source. The
	// registry never runs the server, so that it cannot check the claim.
	APISurface digest.Digest `json:"api_surface,omitzero"`

	Publisher       string    `json:"publisher"` // who published it, as the log says it
	PublishedAt     time.Time `json:"published_at"`
	Build           string    `json:"build,omitempty"` // of the program that recomputed the hashes
	Status          Status    `json:"status"`
	StatusMessage   string    `json:"status_message,omitempty"` // at most MaxStatusMessage characters
	StatusChangedAt time.Time `json:"status_changed_at"`
	UpdatedAt       time.Time `json:"updated_at"`
	IsLatest        bool      `json:"is_latest"` // computed by InsertArchive

	// Findings are the newest MaxFindings findings, newest first: results of recomputing the
	// archive later. InsertArchive ignores them.
	Findings []Finding `json:"findings,omitempty"`

	// Proof is a C2SP tlog-proof that the record is in the registry's log, unverified. It
	// is with single records only, not with those of a list.
	Proof []byte `json:"-"`

	DocumentDigest digest.Digest `json:"-"` // of the canonical form of Manifest; zero if it is not known yet
	Entry          int64         `json:"-"` // index in the log
	StatusEntry    *int64        `json:"-"` // index of the newest change of its status; nil if there was none
}

// Subject is the record's name in evidence and in what is admitted.
func (r ArchiveRecord) Subject() string { return r.Name + "@" + r.Version }

// Document is the digest of the canonical form of the manifest, as the log has it.
func (r ArchiveRecord) Document() (digest.Digest, error) {
	if !r.DocumentDigest.IsZero() {
		return r.DocumentDigest, nil
	}
	canonical, err := serverjson.Canonical(r.Manifest)
	if err != nil {
		return digest.Digest{}, fmt.Errorf("%s %+q: %w", r.Kind, r.Subject(), err)
	}
	return digest.FromBytes(canonical), nil
}

// Cursor is where a page ends whose last record is r.
func (r ArchiveRecord) Cursor() Cursor { return Cursor{Name: r.Name, Version: r.Version} }

// PageSize is about how many bytes r takes of a page.
func (r ArchiveRecord) PageSize() int {
	n := len(r.Manifest) + 512
	for path := range r.Assets {
		n += len(path) + 80
	}
	for _, f := range r.Findings {
		n += len(f.Evidence)
	}
	return n
}

// AsRecord returns what decides which version of a name is the latest.
func (r ArchiveRecord) AsRecord() Record {
	return Record{Name: r.Name, Version: r.Version, PublishedAt: r.PublishedAt, Status: r.Status,
		StatusMessage: r.StatusMessage, IsLatest: r.IsLatest}
}

// Admit is the first step of every insert: it demands that a permits to publish the
// record with each of its digests.
func (r ArchiveRecord) Admit(a policy.Admitted) error {
	document, err := r.Document()
	if err != nil {
		return err
	}
	for _, d := range []digest.Digest{r.ContentIntegrity, r.ContentHash, document} {
		if err := a.Permits(r.Subject(), d, policy.Publish); err != nil {
			return err
		}
	}
	return nil
}

// Normal returns r as a database keeps it: times in microseconds, defaults filled in, and without
// what the database computes itself.
func (r ArchiveRecord) Normal() ArchiveRecord {
	for _, t := range []*time.Time{&r.PublishedAt, &r.StatusChangedAt, &r.UpdatedAt} {
		*t = t.UTC().Truncate(time.Microsecond)
	}
	r.Status = cmp.Or(r.Status, Active)
	r.Publisher = entryPublisher(cmp.Or(r.Publisher, Anonymous))
	r.Proof, r.Findings, r.StatusEntry, r.IsLatest = nil, nil, nil, false
	return r
}

// ArchiveRecords keeps the records of archives; the archives themselves are [Blobs]. Databases
// that implement [Records] implement it too, and pass the same conformance suite.
type ArchiveRecords interface {
	// InsertArchive adds a record if the admission permits to publish its subject with
	// its digests, and appends its entry to the log in the same transaction. A version
	// that exists returns the record it has, unchanged, and ErrExists: of several
	// concurrent inserts exactly one succeeds. The record is on disk when it returns.
	InsertArchive(context.Context, policy.Admitted, ArchiveRecord) (ArchiveRecord, error)

	// Archive returns one record of any status, or ErrNotFound. Version may be Latest.
	Archive(ctx context.Context, kind ledger.Kind, name, version string) (ArchiveRecord, error)

	// ArchiveVersions returns a page of the records of one name, newest first, and the
	// cursor of the next page or "". A name without records is ErrNotFound.
	ArchiveVersions(ctx context.Context, kind ledger.Kind, name, cursor string, deleted bool) (page []ArchiveRecord,
		next string, err error)

	// ListArchives returns a page of one kind ordered by the bytes of name and then of
	// version, as [Records].List does.
	ListArchives(ctx context.Context, kind ledger.Kind, q Query) (page []ArchiveRecord, next string, err error)

	// SetArchiveStatus changes the status of one version, or with version "" of all
	// versions of a name, as [Statuses].SetStatus does.
	SetArchiveStatus(ctx context.Context, kind ledger.Kind, name, version string, c Change) (changed int,
		records []ArchiveRecord, err error)

	// AddArchiveFinding adds a finding of a record, as [Findings].AddFinding does.
	AddArchiveFinding(context.Context, Finding) error

	// ArchiveFindings returns all findings of a record, newest first. The newest MaxFindings
	// come with the record itself.
	ArchiveFindings(ctx context.Context, kind ledger.Kind, name, version string) ([]Finding, error)
}

// ArchiveAnswer is a record as it is answered.
type ArchiveAnswer struct {
	ArchiveRecord
	ProofText string `json:"proof,omitempty"`
}

// ArchivePage is the answer to a list of archives, or of the versions of one.
type ArchivePage struct {
	Archives []ArchiveRecord `json:"archives"`
	Metadata struct {
		Count      int    `json:"count"` // of this page
		NextCursor string `json:"nextCursor,omitempty"`
	} `json:"metadata"`
}

// NewArchivePage is records as they are answered; an empty list is [], not null.
func NewArchivePage(records []ArchiveRecord, next string) ArchivePage {
	p := ArchivePage{Archives: append([]ArchiveRecord{}, records...)}
	p.Metadata.Count, p.Metadata.NextCursor = len(records), next
	return p
}

// Plural is a kind as it is in paths.
func Plural(kind ledger.Kind) string { return string(kind) + "s" }

// SurfaceParameter is the query parameter of an upload in which the publisher of a server claims
// its api_surface.
const SurfaceParameter = "api_surface"

// UpdatedArchives is the answer to a change of status. Archives ends early when it is
// large, as a page does; UpdatedCount counts all.
type UpdatedArchives struct {
	UpdatedCount int             `json:"updatedCount"`
	Archives     []ArchiveRecord `json:"archives"`
}
