package hallmark

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/registry/client"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/project"
)

// lockedProof verifies the proof that the lock has of a record, with the key that is
// configured or that this machine accepted, and without the network.
func (w *workspace) lockedProof(r *project.RecordLock) (evidence.Report, error) {
	if r == nil {
		return nil, nil
	}
	if r.Proof == "" {
		return evidence.Report{noProof(*r, "it was pinned from a registry without a log")}, nil
	}
	once, _ := w.lockedLogs.LoadOrStore(r.Registry, sync.OnceValues(func() (*lockedLog, error) { return w.lockedLog(r.Registry) }))
	l, err := once.(func() (*lockedLog, error))()
	if err != nil {
		return nil, err
	}
	if l.trust.Log == nil {
		return slices.Clone(l.report), nil
	}
	var fork error
	report := proofEvidence(l.trust.Log.Name(), func(checkpoint []byte) (ledger.Signed, error) {
		head := l.open(checkpoint)
		fork = head.fork
		return head.Signed, head.err
	}, *r)
	if fork != nil {
		return nil, fork
	}
	return slices.Concat(l.report, report), nil
}

// installedProof is lockedProof for an installation. Where nobody said which key the registry's
// log has, the proof is held to the log that the registry shows now, which must be the one that
// the lock names: an entry that no log ever had is not installed because a line of hallmark.toml
// is gone. That key is relied on for nothing else, and not kept.
func (w *workspace) installedProof(ctx context.Context, r *project.RecordLock, offline bool) (evidence.Report, error) {
	if r == nil || r.Proof == "" {
		return w.lockedProof(r)
	}
	if known, err := w.knowsLog(r.Registry); err != nil || known {
		if err != nil {
			return nil, err
		}
		return w.lockedProof(r)
	}
	claim := evidence.Claim{
		Subject: "log of " + r.Registry, Scheme: evidence.LogKey, Authority: evidence.Lock, Text: w.lock.Log(r.Registry), Where: project.LockFile + ", logs",
	}
	missing := func(why string) (evidence.Report, error) {
		return evidence.Report{evidence.Miss(claim, evidence.Lock, "this machine knows no key for it, and "+why,
			"give the key with --log-key, or as log_key under [registry] in "+project.ConfigFile+"; the registry's operator knows it")}, nil
	}
	client := w.registry()
	switch {
	case client == nil || w.config.Registry.Name() != r.Registry:
		return missing(project.ConfigFile + " does not name the registry")
	case offline:
		return missing("--offline forbids to ask the registry")
	}
	w.shownOnce.Do(func() {
		w.shown, w.shownErr = readLog(ctx, w.host, client, w.config.Registry, LogOptions{Ask: w.logOptions.Ask})
	})
	l, err := w.shown, w.shownErr
	switch {
	case err != nil:
		return nil, err
	case l == nil:
		return missing("the registry shows no log")
	case l.key == "":
		return missing("the registry announces none")
	}
	named := evidence.Fact(claim, l.head.Origin)
	named.Observed.From = "the log that the registry shows"
	report := slices.DeleteFunc(slices.Clone(l.report), func(e evidence.Evidence) bool {
		return e.Scheme == evidence.LogKey && e.Outcome == evidence.Absent // which the lock's answer stands for
	})
	w.showing.Lock() // one at a time talks with the log
	defer w.showing.Unlock()
	fresh := *r
	more, err := l.proven(ctx, []byte(r.Proof), &fresh)
	return slices.Concat(evidence.Report{named}, report, more), err
}

// lockedLog is the log of a registry of which the lock has records, without the network.
type lockedLog struct {
	name   string          // of the registry
	report evidence.Report // of its key
	trust  ledger.Trust    // without a log if no key is known, or two are
	kept   ledger.Signed   // what this machine saw of it
	seen   bool
	heads  sync.Map // by the text of a checkpoint: a func() lockedHead; many proofs end with one
}

// lockedHead is a checkpoint that the lock has, as it was opened.
type lockedHead struct {
	ledger.Signed
	err  error // it is not signed as it is to be
	fork error // it contradicts what this machine saw
}

func (w *workspace) lockedLog(name string) (*lockedLog, error) {
	logs, err := w.knownLogs()
	if err != nil {
		return nil, err
	}
	k := &registryLog{host: w.host, name: name}
	if w.config.Registry.Name() == name {
		k.rules = w.config.Registry
	}
	if !k.chooseKey(logs, w.logOptions) {
		e := evidence.Fact(evidence.Claim{Subject: "log of " + name, Scheme: evidence.LogKey, Authority: evidence.Machine}, "")
		e.Reason = "this machine knows no key for it, so that the proof in " + project.LockFile + " cannot be verified"
		return &lockedLog{report: evidence.Report{e}}, nil
	}
	l := &lockedLog{name: name, report: k.report}
	if k.key == "" {
		return l, nil
	}
	if l.trust, err = k.rules.Trust(k.key); err != nil {
		return nil, evidence.Errorf(evidence.Validation, project.ConfigFile, "", err)
	}
	l.kept, l.seen = logs.Newest(k.key)
	return l, nil
}

// open verifies a checkpoint, once. What this machine saw of the log holds here too, as
// far as it can be told offline.
func (l *lockedLog) open(checkpoint []byte) lockedHead {
	once, _ := l.heads.LoadOrStore(string(checkpoint), sync.OnceValue(func() (head lockedHead) {
		if head.Signed, head.err = l.trust.Open(checkpoint); head.err != nil || !l.seen || l.kept.Size != head.Size {
			return head
		}
		if err := ledger.CheckConsistency(l.kept.Checkpoint, head.Checkpoint, nil); err != nil {
			head.fork = forkError(l.name, "this machine was shown", l.kept.Note, project.LockFile+" has", head.Note, err)
		}
		return head
	}))
	return once.(func() lockedHead)()
}

// checkLog compares the records of the lock with what their registry and its log show
// now. A registry that cannot be reached is evidence, so that other findings are shown
// as well.
func (w *workspace) checkLog(ctx context.Context, names []string) (evidence.Report, error) {
	client := w.registry()
	var report evidence.Report
	var l *registryLog
	opened := false
	var records []project.RecordLock
	for _, name := range names {
		if entry, ok := w.lock.Server(name); ok && entry.Record != nil {
			records = append(records, *entry.Record)
		}
	}
	for _, name := range w.lock.Facets() {
		if f, _ := w.lock.Facet(name); f.Source.Kind == project.FromRegistry {
			records = append(records, project.RecordLock{
				Kind: ledger.Facet, Registry: f.Source.Registry, Name: name, Version: f.Version, Integrity: f.Integrity, Proof: f.Proof,
			})
		}
	}
	for _, r := range records {
		if client == nil || r.Registry != w.config.Registry.Name() {
			continue
		}
		if !opened {
			var err error
			if l, err = readLog(ctx, w.host, client, w.config.Registry, w.logOptions); err != nil {
				return w.unreached(report, err)
			}
			if opened = true; l != nil {
				report = append(report, l.report...)
			}
		}
		var more evidence.Report
		var err error
		if r.Kind == ledger.Artifact || r.Kind == ledger.Facet {
			more, err = l.checkArchive(ctx, client, r)
		} else {
			more, err = l.checkRecord(ctx, client, w, r)
		}
		report = append(report, more...)
		if err != nil {
			return w.unreached(report, err)
		}
	}
	return report, nil
}

// unreached makes an error by which nothing was decided a piece of evidence.
func (w *workspace) unreached(report evidence.Report, err error) (evidence.Report, error) {
	var problem *evidence.Error
	if evidence.ClassOf(err) != evidence.Operation || !errors.As(err, &problem) {
		return report, err
	}
	return append(report, evidence.CannotVerify(evidence.Claim{
		Subject: "log of " + w.config.Registry.Name(), Scheme: evidence.Checkpoint, Authority: evidence.Log,
	}, evidence.Unreachable, problem.Err.Error()+"; 'hallmark check --offline' does without it")), nil
}

// checkRecord compares one locked record with the one that the registry serves, and with
// the log, which may be nil.
func (l *registryLog) checkRecord(ctx context.Context, client *client.Client, w *workspace, r project.RecordLock) (evidence.Report, error) {
	claim := evidence.Claim{
		Subject: r.Subject(), Scheme: evidence.Document, Authority: evidence.Record, Want: []digest.Digest{r.Document}, Where: project.LockFile + ", record",
	}
	envelope, err := client.GetDeleted(ctx, r.Name, r.Version)
	if notFound(err) {
		e := evidence.Compare(claim, evidence.Observed{Digests: []digest.Digest{digest.FromBytes(nil)}, Text: "no such record", From: "the registry's answer"})
		return evidence.Report{e}, nil
	}
	if err != nil {
		return nil, unanswered(r.Subject(), err)
	}
	now, err := w.record(*envelope)
	if err != nil {
		return nil, err
	}
	report := evidence.Report{evidence.Compare(claim, evidence.Observed{Digests: []digest.Digest{now.lock.Document}, From: "the record as it is served now"})}
	if l == nil || l.key == "" {
		return report, nil
	}
	if r.Proof == "" {
		report = append(report, unprovenEntry(r, l.head.Origin))
	}
	index := int64(-1) // that the lock says; a record may be pinned before the registry had a log, or its proof taken out of the lock
	if r.Proof != "" {
		p, err := ledger.ParseProof([]byte(r.Proof))
		if err != nil {
			return report, nil // which its own evidence says
		}
		if _, err := l.see(ctx, p.Checkpoint); err != nil {
			return report, err
		}
		index = p.Index
	}
	fresh := r
	more, err := l.prove(ctx, &fresh)
	report = append(report, more...)
	if err != nil {
		return report, err
	}
	again, err := ledger.ParseProof([]byte(fresh.Proof))
	if err != nil {
		return report, nil // there is none, or no good one, which its evidence says
	}
	if index >= 0 && again.Index != index {
		report = append(report, otherEntry(r, index, again.Index, l.head.Origin))
	}
	later, err := l.later(ctx, fresh, envelope.Meta)
	return append(report, later...), err
}

// unprovenEntry is evidence that an entry of the lock has no proof, though its registry has a
// log: it was taken out, or the entry is older than the log.
func unprovenEntry(r project.RecordLock, origin string) evidence.Evidence {
	c := proofClaim(r, origin)
	c.Subject, c.Where = r.ProofSubject()+" in "+project.LockFile, project.LockFile+", proof"
	renew := "hallmark pin"
	if r.Kind == ledger.Facet {
		renew = "hallmark upgrade " + r.Name
	}
	return evidence.Miss(c, evidence.Log, "the registry has the log "+origin+", and the entry has no proof that it is in it",
		"restore "+project.LockFile+" from version control; or run '"+renew+"', which locks the proof")
}

// checkArchive is checkRecord for the record of an archive.
func (l *registryLog) checkArchive(ctx context.Context, client *client.Client, r project.RecordLock) (evidence.Report, error) {
	claim := evidence.Claim{
		Subject: r.Subject(), Scheme: evidence.FacetTar, Authority: evidence.Lock, Want: []digest.Digest{r.Integrity}, Where: project.LockFile,
	}
	rec, err := client.ArchiveRecord(ctx, string(r.Kind), r.Name, r.Version)
	if notFound(err) {
		e := evidence.Compare(claim, evidence.Observed{Digests: []digest.Digest{digest.FromBytes(nil)}, Text: "no such record", From: "the registry's answer"})
		return evidence.Report{e}, nil
	}
	if err != nil {
		return nil, unanswered(r.Subject(), err)
	}
	report := evidence.Report{evidence.Compare(claim, evidence.Observed{Digests: []digest.Digest{rec.ContentIntegrity}, From: "the record as it is served now"})}
	if l == nil || l.key == "" {
		return report, nil
	}
	if r.Proof == "" {
		report = append(report, unprovenEntry(r, l.head.Origin))
	}
	if locked, err := ledger.ParseProof([]byte(r.Proof)); err == nil {
		if _, err := l.see(ctx, locked.Checkpoint); err != nil {
			return report, err
		}
		if now, err := ledger.ParseProof(rec.Proof); err == nil && now.Index != locked.Index {
			report = append(report, otherEntry(r, locked.Index, now.Index, l.head.Origin))
		}
	}
	if len(rec.Proof) == 0 {
		return append(report, evidence.CannotVerify(proofClaim(r, l.head.Origin), evidence.NotFound, "the registry has a log, and gave no proof")), nil
	}
	fresh := r
	more, err := l.proven(ctx, rec.Proof, &fresh)
	if report = append(report, more...); err != nil {
		return report, err
	}
	more, err = l.said(ctx, rec, fresh.Proof)
	return append(report, more...), err
}
