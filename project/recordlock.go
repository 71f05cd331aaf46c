package project

import (
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/ledger"
)

// RecordLock says which record of which registry vouched for the artifact.
type RecordLock struct {
	Registry  string        `json:"registry"` // the registry's host, with its path if it has one
	Name      string        `json:"name"`
	Version   string        `json:"version"`
	Document  digest.Digest `json:"document"` // of the canonical server.json
	Kind      ledger.Kind   `json:"-"`        // of what is recorded; empty is a server
	Integrity digest.Digest `json:"-"`        // of an archive: its content_integrity
	// Log is the origin of the registry's log: the entry owes a proof of it. Absent where there is no log.
	Log string `json:"log,omitempty"`
	// Proof says that it is in the registry's log, in the form of [ledger.Proof]; absent where there is no log.
	Proof string `json:"proof,omitempty"`
}

// Subject names the record in evidence: "NAME@VERSION".
func (r RecordLock) Subject() string { return r.Name + "@" + r.Version }

// ProofSubject names the proof that the record is in its registry's log.
func (r RecordLock) ProofSubject() string { return "log proof of " + r.Subject() }

// ProofDigest is the digest under which the proof is admitted; zero if there is none.
func (r RecordLock) ProofDigest() digest.Digest {
	return digestOfProof(r.Proof)
}

func digestOfProof(proof string) digest.Digest {
	if proof == "" {
		return digest.Digest{}
	}
	return digest.FromBytes([]byte(proof))
}

// samePlace reports whether two entries are of the same record of the same registry.
func (r RecordLock) samePlace(o *RecordLock) bool {
	return o != nil && o.Registry == r.Registry && o.Subject() == r.Subject()
}
