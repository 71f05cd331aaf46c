package registry

import (
	"cmp"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/serverjson"
)

// Leaf is the entry that says that r was published.
func (r ArchiveRecord) Leaf() (ledger.Leaf, error) {
	document, err := r.Document()
	return ledger.Leaf{
		Kind: ledger.Kind(r.Kind), Name: r.Name, Version: r.Version, ContentIntegrity: r.ContentIntegrity,
		APISurface: r.APISurface,
		Document:   document, Publisher: r.Publisher, At: entryTime(r.PublishedAt),
	}, err
}

// StatusLeaf is the entry that says which status r has from now on.
func (r ArchiveRecord) StatusLeaf(by string, at time.Time) (ledger.Leaf, error) {
	leaf, err := r.AsRecord().statusLeaf(by, at)
	leaf.Of = ledger.Kind(r.Kind)
	return leaf, err
}

// Publishers that are not the subject of a login.
const (
	Anonymous = "anonymous" // published without a token
	operator  = "operator"  // a command beside the registry
)

// leaf is the entry that says that rec was inserted.
func (r Record) leaf() ledger.Leaf {
	l := ledger.Leaf{Kind: ledger.Server, Name: r.Name, Version: r.Version, Document: r.Digest,
		Publisher: entryPublisher(cmp.Or(r.Publisher, Anonymous)), At: entryTime(r.PublishedAt)}
	if !r.ImportedAt.IsZero() {
		l.Publisher, l.At = entryPublisher("import:"+r.Origin), entryTime(r.ImportedAt)
	}
	return l
}

// Leaves are the entries of a record that is inserted: one for the record and, unless its status
// is Active without a message, one for the status.
func (r Record) Leaves() ([]ledger.Leaf, error) {
	leaves := []ledger.Leaf{r.leaf()}
	if r.Status == Active && r.StatusMessage == "" {
		return leaves, nil
	}
	status, err := r.statusLeaf(leaves[0].Publisher, leaves[0].At)
	return append(leaves, status), err
}

// statusLeaf is the entry that says which status rec has from now on.
func (r Record) statusLeaf(by string, at time.Time) (ledger.Leaf, error) {
	document, err := ledger.StatusDocument(string(r.Status), r.StatusMessage)
	return ledger.Leaf{Kind: ledger.Status, Of: ledger.Server, Name: r.Name, Version: r.Version, Document: document,
		Status: string(r.Status), Publisher: entryPublisher(cmp.Or(by, operator)), At: entryTime(at)}, err
}

// FollowedLeaf is the entry that says that an imported record took over the status of rec.
func (r Record) FollowedLeaf() (ledger.Leaf, error) {
	return r.statusLeaf("import:"+r.Origin, cmp.Or(r.ImportedAt, r.StatusChangedAt))
}

// Leaf is the entry of a finding. Its document is the canonical form of what was found.
func (f Finding) Leaf() (ledger.Leaf, error) {
	canonical, err := serverjson.Canonical(f.Evidence)
	if err != nil {
		return ledger.Leaf{}, fmt.Errorf("finding of %+q: %w", f.Name+"@"+f.Version, err)
	}
	return ledger.Leaf{Kind: ledger.Finding, Of: cmp.Or(f.Kind, ledger.Server), Name: f.Name, Version: f.Version,
		Document: digest.FromBytes(canonical), Publisher: operator, At: entryTime(f.At)}, nil
}

// entryTime returns t in the range and precision of an entry. Times outside that range can only
// come from an import.
func entryTime(t time.Time) time.Time {
	if t.Year() < 1970 || t.Year() > 9999 {
		return time.Unix(0, 0).UTC()
	}
	return t.UTC().Truncate(time.Second)
}

// entryPublisher returns s without what an entry cannot hold: the names of users and of imported
// files may contain control characters, be malformed or too long.
func entryPublisher(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(s, string(utf8.RuneError)))
	for len(s) > ledger.MaxPublisher {
		_, last := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-last]
	}
	return s
}

// BeforeTheLog is the publisher of records that are older than the log: their publisher was not kept.
const BeforeTheLog = "before the log"
