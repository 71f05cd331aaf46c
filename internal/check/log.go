package check

import (
	"context"
	"errors"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/obtain"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/client"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/project"
)

// checkLog compares the records of the lock with what their registry and its log show now, and adds
// what it finds to the servers and facets that they are of. An unreachable registry becomes evidence, so that other
// findings are shown as well.
func checkLog(ctx context.Context, w *workspace.Workspace, logs *trail.Logs,
	servers, facets []Entry) (evidence.Report, error) {
	client := w.Registry()
	var report evidence.Report
	var l *trail.Log
	opened := false
	for _, r := range lockedRecords(w, servers, facets) {
		if client == nil || r.Registry != w.Config.Registry.Name() {
			continue
		}
		if !opened {
			var err error
			if l, _, err = logs.Open(ctx); err != nil {
				return unreachedEvidence(w, report, err)
			}
			if opened = true; l != nil {
				report = append(report, l.Report...)
			}
		}
		var more evidence.Report
		var err error
		if r.Kind == ledger.Artifact || r.Kind == ledger.Facet {
			more, err = checkArchive(ctx, l, client, r.RecordLock)
		} else {
			more, err = CheckRecord(ctx, l, client, w, r.RecordLock)
		}
		more = more.About(r.entry)
		report, r.of.Report = append(report, more...), append(r.of.Report, more...)
		if err != nil {
			return unreachedEvidence(w, report, err)
		}
	}
	return report, nil
}

// lockedRecord is a record that the lock names, with the server or the facet that it is of.
type lockedRecord struct {
	project.RecordLock
	entry evidence.Entry
	of    *Entry
}

// lockedRecords returns the records of servers, and then those of facets.
func lockedRecords(w *workspace.Workspace, servers, facets []Entry) []lockedRecord {
	var records []lockedRecord
	for i, of := range servers {
		if entry, ok := w.Lock.Server(of.Name); ok && entry.Record != nil {
			records = append(records, lockedRecord{*entry.Record, w.ServerEntry(of.Name), &servers[i]})
		}
	}
	for i, of := range facets {
		if f, ok := w.Lock.Facet(of.Name); ok && f.Source.Kind.HasRecords() {
			records = append(records, lockedRecord{project.RecordLock{
				Kind: ledger.Facet, Registry: f.Source.Registry, Name: of.Name, Version: f.Version,
				Integrity: f.Integrity, Proof: f.Proof,
			}, w.FacetEntry(of.Name), &facets[i]})
		}
	}
	return records
}

// unreachedEvidence turns an error of class Operation, such as an unreachable registry, into
// evidence.
func unreachedEvidence(w *workspace.Workspace, report evidence.Report, err error) (evidence.Report, error) {
	var problem *evidence.Error
	if evidence.ClassOf(err) != evidence.Operation || !errors.As(err, &problem) {
		return report, err
	}
	return append(report, evidence.CannotVerify(evidence.Claim{
		Subject: "log of " + w.Config.Registry.Name(), Scheme: evidence.Checkpoint, Authority: evidence.Log,
	}, evidence.Unreachable, problem.Err.Error()+"; 'hallmark check --offline' does without it")), nil
}

// CheckRecord compares one locked record with the one that the registry serves, and with
// the log, which may be nil.
func CheckRecord(ctx context.Context, l *trail.Log, client *client.Client, w *workspace.Workspace,
	r project.RecordLock) (evidence.Report, error) {
	claim := evidence.Claim{
		Subject: r.Subject(), Scheme: evidence.Document, Authority: evidence.Record, Want: []digest.Digest{r.Document},
		Where: project.LockFile + ", record",
	}
	envelope, err := client.GetDeleted(ctx, r.Name, r.Version)
	if trail.IsNotFound(err) {
		return evidence.Report{noRecordEvidence(claim)}, nil
	}
	if err != nil {
		return nil, host.NoAnswer(r.Subject(), err)
	}
	now, err := obtain.RecordFromEnvelope(w, *envelope)
	if err != nil {
		return nil, err
	}
	report := evidence.Report{
		evidence.Compare(claim,
			evidence.Observed{Digests: []digest.Digest{now.Lock.Document}, From: "the record as it is served now"})}
	if l != nil && r.Proof == "" {
		report = append(report, trail.UnprovenEvidence(r))
	}
	if l == nil || l.Key == "" {
		return report, nil
	}
	more, err := fetchedProofEvidence(ctx, l, r, envelope.Meta)
	return append(report, more...), err
}

// noRecordEvidence is evidence that the registry does not serve a locked record.
func noRecordEvidence(claim evidence.Claim) evidence.Evidence {
	return evidence.Compare(claim, evidence.Observed{
		Digests: []digest.Digest{digest.FromBytes(nil)}, Text: "no such record", From: "the registry's answer",
	})
}

// fetchedProofEvidence fetches the proof that r is in the log. It compares that with the proof that the lock has, and
// returns what the log holds about r since.
func fetchedProofEvidence(ctx context.Context, l *trail.Log, r project.RecordLock,
	meta registry.Meta) (evidence.Report, error) {
	// that the lock says; a record may be pinned before the registry had a log, or its proof taken out of the lock
	index := int64(-1)
	if r.Proof != "" {
		p, err := ledger.ParseProof([]byte(r.Proof))
		if err != nil {
			return nil, nil // which its own evidence says
		}
		if _, err := l.AcceptCheckpoint(ctx, p.Checkpoint); err != nil {
			return nil, err
		}
		index = p.Index
	}
	fresh := r
	report, err := l.FetchProof(ctx, &fresh)
	if err != nil {
		return report, err
	}
	again, err := ledger.ParseProof([]byte(fresh.Proof))
	if err != nil {
		return report, nil // there is none, or no good one, which its evidence says
	}
	if index >= 0 && again.Index != index {
		report = append(report, trail.OtherEntryEvidence(r, index, again.Index, l.Head.Origin))
	}
	later, err := l.LaterEvidence(ctx, fresh, meta)
	return append(report, later...), err
}

// checkArchive is [CheckRecord] for the record of an archive.
func checkArchive(ctx context.Context, l *trail.Log, client *client.Client, r project.RecordLock) (evidence.Report,
	error) {
	claim := evidence.Claim{
		Subject: r.Subject(), Scheme: evidence.FacetTar, Authority: evidence.Lock, Want: []digest.Digest{r.Integrity},
		Where: project.LockFile,
	}
	rec, err := client.ArchiveRecord(ctx, string(r.Kind), r.Name, r.Version)
	if trail.IsNotFound(err) {
		return evidence.Report{noRecordEvidence(claim)}, nil
	}
	if err != nil {
		return nil, host.NoAnswer(r.Subject(), err)
	}
	report := evidence.Report{
		evidence.Compare(claim,
			evidence.Observed{Digests: []digest.Digest{rec.ContentIntegrity}, From: "the record as it is served now"})}
	if l != nil && r.Proof == "" {
		report = append(report, trail.UnprovenEvidence(r))
	}
	if l == nil || l.Key == "" {
		return report, nil
	}
	if locked, err := ledger.ParseProof([]byte(r.Proof)); err == nil {
		if _, err := l.AcceptCheckpoint(ctx, locked.Checkpoint); err != nil {
			return report, err
		}
		if now, err := ledger.ParseProof(rec.Proof); err == nil && now.Index != locked.Index {
			report = append(report, trail.OtherEntryEvidence(r, locked.Index, now.Index, l.Head.Origin))
		}
	}
	if len(rec.Proof) == 0 {
		return append(report,
			evidence.CannotVerify(trail.ProofClaim(r, l.Head.Origin), evidence.NotFound,
				"the registry has a log, and gave no proof")), nil
	}
	fresh := r
	more, err := l.VerifyProof(ctx, rec.Proof, &fresh)
	if report = append(report, more...); err != nil {
		return report, err
	}
	more, err = l.ArchiveEvidence(ctx, rec, fresh.Proof)
	return append(report, more...), err
}
