package obtain

import (
	"context"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/project"
)

// verifyRecord verifies what the record of an archive says of it, that it is in its registry's log,
// and what the log says of it later. It returns the proof.
func (s *Sources) verifyRecord(ctx context.Context, c claims, q *inquiry) (proof string, err error) {
	rec := *c.record
	q.add(ArchiveStatus(rec))
	document, err := rec.Document()
	if err != nil {
		return "", evidence.Errorf(evidence.Validation, c.subject(), "", err)
	}
	logged := project.RecordLock{
		Kind: c.ledgerKind(), Registry: s.Workspace.Config.Registry.Name(), Name: rec.Name, Version: rec.Version,
		Document: document, Integrity: rec.ContentIntegrity,
	}
	log, err := s.proveRecord(ctx, rec.Proof, &logged, q)
	if err != nil {
		return "", err
	}
	if logged.Proof != "" {
		later, err := log.ArchiveEvidence(ctx, rec, logged.Proof)
		if q.add(later...); err != nil {
			return "", err
		}
	}
	if c.kind != ledger.Artifact {
		entry := c.entry
		entry.Proof = logged.Proof
		if err := s.settleProof(c.name, entry, q); err != nil {
			return "", err
		}
	}
	_, err = q.judge() // judge before downloading: a refused record must not cause a request
	return logged.Proof, err
}

// verifyLockedRecord verifies the present record of a facet that is locked and had to be fetched
// again. The record was confirmed when it was locked: if no log key is configured, the log is
// skipped and no person is asked for one. A server that is being started asks no log.
func (s *Sources) verifyLockedRecord(ctx context.Context, c claims, q *inquiry) error {
	if c.kind == ledger.Artifact {
		return nil
	}
	if known, err := s.Logs.KnowsKey(s.Workspace.Config.Registry.Name()); err != nil || !known {
		return err
	}
	_, err := s.verifyRecord(ctx, c, q)
	return err
}

// demandLockedProof refuses a locked archive without a proof if its registry answered with one: it has a
// log, and its entries owe proofs, even where nobody knows the log and the lock does not name it.
func demandLockedProof(c claims, q *inquiry) error {
	if c.locked == nil || c.locked.Proof != "" || len(c.record.Proof) == 0 {
		return nil
	}
	_, err := q.judge(trail.UnprovenEvidence(project.RecordLock{Kind: c.ledgerKind(), Name: c.name,
		Version: c.entry.Version}))
	return err
}

// verifyLockedProof verifies the proof that the lock has of a facet, as [trail.Logs.InstalledProof] does.
func (s *Sources) verifyLockedProof(ctx context.Context,
	name string, entry project.FacetLock) (evidence.Report, error) {
	return s.Logs.InstalledProof(ctx, s.Workspace.Lock, &project.RecordLock{
		Kind: ledger.Facet, Registry: entry.Source.Registry, Name: name, Version: entry.Version,
		Integrity: entry.Integrity, Proof: entry.Proof,
	}, s.o.Offline)
}

// proveRecord verifies the proof that a record is in its registry's log, puts it into r, and
// returns the log; nil if there is none.
func (s *Sources) proveRecord(ctx context.Context, proof []byte,
	r *project.RecordLock, q *inquiry) (*trail.Log, error) {
	s.logMu.Lock()
	defer s.logMu.Unlock()
	log, first, err := s.Logs.Open(ctx)
	if err != nil {
		return nil, err
	}
	if log != nil {
		q.add(log.Report...)
	}
	if first && log != nil {
		s.logReport = append(s.logReport, log.Report...)
	}
	more, err := log.VerifyProof(ctx, proof, r)
	q.add(more...)
	return log, err
}
