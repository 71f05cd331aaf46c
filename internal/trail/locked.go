package trail

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/project"
)

// LockedProof verifies, without the network, the proof that the lock stores for a record, with the
// key that is configured or that this machine accepted.
func (s *Logs) LockedProof(r *project.RecordLock) (evidence.Report, error) {
	if r == nil {
		return nil, nil
	}
	if r.Proof == "" {
		return evidence.Report{NoProofEvidence(*r, "it was pinned from a registry without a log")}, nil
	}
	once, _ := s.locked.LoadOrStore(r.Registry,
		sync.OnceValues(func() (*lockedLog, error) { return s.openLocked(r.Registry) }))
	l, err := once.(func() (*lockedLog, error))()
	if err != nil {
		return nil, err
	}
	if l.trust.Log == nil {
		return slices.Clone(l.report), nil
	}
	var fork error
	report := ProofEvidence(l.trust.Log.Name(), func(checkpoint []byte) (ledger.Signed, error) {
		head := l.open(checkpoint)
		fork = head.fork
		return head.Signed, head.err
	}, *r)
	if fork != nil {
		return nil, fork
	}
	return slices.Concat(l.report, report), nil
}

// InstalledProof is LockedProof for an installation. If no log key is configured or accepted, it
// verifies the proof with the key of the log that the registry shows now, which must be the log
// that the lock names. Otherwise removing a line of hallmark.toml would let an entry be installed
// that no log ever had. That key is used for nothing else, and not stored.
func (s *Logs) InstalledProof(ctx context.Context, lock *project.Lock, r *project.RecordLock,
	offline bool) (evidence.Report, error) {
	if r == nil || r.Proof == "" {
		return s.LockedProof(r)
	}
	if known, err := s.KnowsKey(r.Registry); err != nil || known {
		if err != nil {
			return nil, err
		}
		return s.LockedProof(r)
	}
	claim := evidence.Claim{
		Subject: "log of " + r.Registry, Scheme: evidence.LogKey, Authority: evidence.Lock, Text: lock.Log(r.Registry),
		Where: project.LockFile + ", log",
	}
	missing := func(why string) (evidence.Report, error) {
		return evidence.Report{evidence.Miss(claim, evidence.Lock, "this machine knows no key for it, and "+why,
			"give the key with --log-key, or as log_key under [registry] in "+project.ConfigFile+
				"; the registry's operator knows it")}, nil
	}
	switch {
	case s.client == nil || s.rules.Name() != r.Registry:
		return missing(project.ConfigFile + " does not name the registry")
	case offline:
		return missing("--offline forbids to ask the registry")
	}
	s.shownOnce.Do(func() {
		s.shown, s.shownErr = Read(ctx, s.host, s.client, s.rules, Options{Ask: s.options.Ask})
	})
	l, err := s.shown, s.shownErr
	switch {
	case err != nil:
		return nil, err
	case l == nil:
		return missing("the registry shows no log")
	case l.Key == "":
		return missing("the registry announces none")
	}
	named := evidence.Fact(claim, l.Head.Origin)
	named.Observed.From = "the log that the registry shows"
	report := slices.DeleteFunc(slices.Clone(l.Report), func(e evidence.Evidence) bool {
		return e.Scheme == evidence.LogKey && e.Outcome == evidence.Absent // which the lock's answer stands for
	})
	s.showing.Lock() // one at a time talks with the log
	defer s.showing.Unlock()
	fresh := *r
	more, err := l.VerifyProof(ctx, []byte(r.Proof), &fresh)
	return slices.Concat(evidence.Report{named}, report, more), err
}

// UnprovenEvidence returns evidence that an entry of the lock has no proof, though its registry has a
// log: the proof was removed, or the entry is older than the log.
func UnprovenEvidence(r project.RecordLock) evidence.Evidence {
	renew := "hallmark pin"
	if r.Kind == ledger.Facet {
		renew = "hallmark upgrade " + r.Name
	}
	return evidence.Miss(evidence.Claim{
		Subject: r.ProofSubject() + " in " + project.LockFile, Scheme: evidence.Proof, Authority: evidence.Log,
		Text: string(cmp.Or(r.Kind, ledger.Server)) + " " + r.Subject(), Where: project.LockFile + ", proof",
	}, evidence.Log, "the registry has a log, and the entry has no proof that it is in it",
		"restore "+project.LockFile+" from version control; or run '"+renew+"', which locks the proof")
}

// lockedLog is the log of a registry whose records the lock holds, used without the network.
type lockedLog struct {
	name   string          // of the registry
	report evidence.Report // of its key
	trust  ledger.Trust    // without a log if no key is known, or two are
	kept   ledger.Signed   // what this machine saw of it
	seen   bool
	heads  sync.Map // by the text of a checkpoint: a func() lockedHead; many proofs end with one
}

// lockedHead is the result of verifying a checkpoint of the lock.
type lockedHead struct {
	ledger.Signed
	err  error // it is not signed as it is to be
	fork error // it contradicts what this machine saw
}

// openLocked reads the key of a registry's log, and the checkpoints of it that this machine saw.
func (s *Logs) openLocked(name string) (*lockedLog, error) {
	known, err := s.ReadKnown()
	if err != nil {
		return nil, err
	}
	k := s.unread(name)
	if !k.ChooseKey(known, s.options) {
		e := evidence.Fact(
			evidence.Claim{Subject: "log of " + name, Scheme: evidence.LogKey, Authority: evidence.Machine}, "")
		e.Reason = "this machine knows no key for it, so that the proof in " + project.LockFile + " cannot be verified"
		return &lockedLog{report: evidence.Report{e}}, nil
	}
	l := &lockedLog{name: name, report: k.Report}
	if k.Key == "" {
		return l, nil
	}
	if l.trust, err = k.Rules.Trust(k.Key); err != nil {
		return nil, evidence.Errorf(evidence.Validation, project.ConfigFile, "", err)
	}
	l.kept, l.seen = known.Newest(k.Key)
	return l, nil
}

// open verifies a checkpoint, once. It also compares the checkpoint with those that this machine
// saw, as far as that is possible offline.
func (l *lockedLog) open(checkpoint []byte) lockedHead {
	once, _ := l.heads.LoadOrStore(string(checkpoint), sync.OnceValue(func() (head lockedHead) {
		if head.Signed, head.err = l.trust.Open(checkpoint); head.err != nil || !l.seen || l.kept.Size != head.Size {
			return head
		}
		if err := ledger.CheckConsistency(l.kept.Checkpoint, head.Checkpoint, nil); err != nil {
			head.fork = forkError(l.name, shownNote{"this machine was shown", l.kept.Note},
				shownNote{project.LockFile + " has", head.Note}, err)
		}
		return head
	}))
	return once.(func() lockedHead)()
}
