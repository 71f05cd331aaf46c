package registry

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/serverjson"
)

// Envelope is one record in an answer: the document as it was published, and beside
// it what the registry says.
type Envelope struct {
	Server json.RawMessage `json:"server"`
	Meta   Meta            `json:"_meta"`
}

// Meta is what a registry says of a record. Integrity is nil if the registry is not
// one that recomputes hashes.
type Meta struct {
	Official  *Official  `json:"io.modelcontextprotocol.registry/official,omitempty"`
	Integrity *Integrity `json:"hallmark/integrity,omitempty"`
}

// Official is the state of a record, with the members of the official registry.
type Official struct {
	Status          Status    `json:"status"`
	StatusChangedAt time.Time `json:"statusChangedAt"`
	StatusMessage   string    `json:"statusMessage,omitempty"`
	PublishedAt     time.Time `json:"publishedAt"`
	UpdatedAt       time.Time `json:"updatedAt"`
	IsLatest        bool      `json:"isLatest"`
}

// Integrity is what was recomputed when a record was published. Evidence is a JSON
// array in the form of package evidence: each element has, where bytes were hashed,
// their URL ("from") and number ("size").
type Integrity struct {
	Document digest.Digest `json:"document"` // of the canonical form of server.json
	// nil unless a claim of each package was recomputed and all matched
	VerifiedAt *time.Time      `json:"verifiedAt,omitempty"`
	Build      string          `json:"build,omitempty"` // the version of the program that checked
	Evidence   json.RawMessage `json:"evidence"`

	// Findings are the newest MaxFindings results of recomputing the claims later, newest first.
	Findings []Finding `json:"findings,omitempty"`

	// ImportedFrom names the registry or file that the record was imported from; an import
	// recomputes nothing. It is "" if the record was published here.
	ImportedFrom string     `json:"importedFrom,omitempty"`
	ImportedAt   *time.Time `json:"importedAt,omitempty"`

	// Proof is the answer to a publish only: C2SP tlog-proof, see package ledger. It is
	// the last member.
	Proof string `json:"proof,omitempty"`
}

// Page is the answer to a list.
type Page struct {
	Servers  []Envelope `json:"servers"`
	Metadata struct {
		Count      int    `json:"count"` // of this page
		NextCursor string `json:"nextCursor,omitempty"`
	} `json:"metadata"`
}

// NewEnvelope is rec as it is answered.
func NewEnvelope(rec Record) Envelope {
	i := &Integrity{Document: rec.Digest, Build: rec.Build, Evidence: rec.Evidence, Findings: rec.Findings,
		ImportedFrom: rec.Origin}
	if !rec.VerifiedAt.IsZero() {
		i.VerifiedAt = &rec.VerifiedAt
	}
	if !rec.ImportedAt.IsZero() {
		i.ImportedAt = &rec.ImportedAt
	}
	return Envelope{
		Server: rec.Document,
		Meta: Meta{
			Official: &Official{
				Status:          rec.Status,
				StatusChangedAt: rec.StatusChangedAt,
				StatusMessage:   rec.StatusMessage,
				PublishedAt:     rec.PublishedAt,
				UpdatedAt:       rec.UpdatedAt,
				IsLatest:        rec.IsLatest,
			},
			Integrity: i,
		},
	}
}

// AppendEnvelope appends the JSON of rec as it is answered, without whitespace that
// the publisher may have had in the document.
func AppendEnvelope(dst []byte, rec Record) ([]byte, error) {
	b := bytes.NewBuffer(dst)
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(NewEnvelope(rec)); err != nil {
		return dst, fmt.Errorf("record %+q: %w", rec.Subject(), err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// AppendProof puts a proof into the envelope with which b ends.
func AppendProof(b, proof []byte) ([]byte, error) {
	const end = "}}}" // of the integrity, _meta and the envelope
	if proof == nil {
		return b, nil
	}
	if !bytes.HasSuffix(b, []byte(end)) {
		return b, errors.New("an envelope that does not end with its integrity")
	}
	text, err := json.Marshal(string(proof))
	if err != nil {
		return b, err
	}
	b = append(b[:len(b)-len(end)], `,"proof":`...)
	return append(append(b, text...), end...), nil
}

// AppendEnvelopes appends the records of a page, with commas between.
func AppendEnvelopes(dst []byte, records []Record) ([]byte, error) {
	out := dst
	for i, rec := range records {
		if i > 0 {
			out = append(out, ',')
		}
		var err error
		if out, err = AppendEnvelope(out, rec); err != nil {
			return dst, err
		}
	}
	return out, nil
}

// NewPage is records as they are answered; an empty list is [], not null.
func NewPage(records []Record, next string) Page {
	p := Page{Servers: make([]Envelope, len(records))}
	for i, rec := range records {
		p.Servers[i] = NewEnvelope(rec)
	}
	p.Metadata.Count, p.Metadata.NextCursor = len(records), next
	return p
}

// SortedKeys are the keys of m in order.
func SortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// ReadName returns the name and the version in the document of a record. It compares the names of members
// exactly: encoding/json would read a member "Name" as the name, and other readers would not.
func ReadName(document json.RawMessage) (name, version string, err error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(document, &members); err != nil {
		return "", "", err
	}
	for member, to := range map[string]*string{"name": &name, "version": &version} {
		if raw := members[member]; raw != nil && json.Unmarshal(raw, to) != nil {
			return "", "", fmt.Errorf("its %s is no text", member)
		}
	}
	return name, version, nil
}

// DigestOf is the digest of a document's canonical form.
func DigestOf(document []byte) (digest.Digest, error) {
	canonical, err := serverjson.Canonical(document)
	if err != nil {
		return digest.Digest{}, err
	}
	return digest.FromBytes(canonical), nil
}
