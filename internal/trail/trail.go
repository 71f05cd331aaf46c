// Package trail follows a registry's log as a client: it reads the log's head, verifies proofs with
// the log's key, and compares each checkpoint with those that the log showed before.
//
// It keeps one file in the state directory, logs.json: the keys of logs and their newest
// checkpoints.
package trail

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/machine"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/client"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/project"
)

// Options are what a command says about a registry's log, in addition to the rules of
// hallmark.toml.
type Options struct {
	Key string // verifier key, "" if none is given
	// Ask asks a person whether key belongs to the registry's log, which this machine sees for the
	// first time; nil if no person can be asked.
	Ask func(registry, key string) (host.Consent, error)
}

// Log is the log of a registry, as this machine relies on it.
type Log struct {
	Host   *host.Host
	Client *client.Client
	Rules  project.Registry
	Name   string       // of the registry
	Key    string       // "" if there is none to check anything with
	keep   bool         // what is seen is kept: the key was chosen, not just announced
	Trust  ledger.Trust // without a quorum, which is judged by itself
	Head   ledger.Signed
	Report evidence.Report // about the key and the head

	reading sync.Mutex     // guards reader
	reader  *ledger.Reader // of the head's tree; nil before the first entry is read
}

// Read reads the head of the registry's log, and compares it with the one that this machine saw
// last. It returns nil for a registry without a log. It fails if the log is missing and
// somebody named or accepted a key for it.
func Read(ctx context.Context, h *host.Host, client *client.Client, rules project.Registry, o Options) (*Log, error) {
	l := &Log{Host: h, Client: client, Rules: rules, Name: rules.Name()}
	logs, err := KnownLogs(h)
	if err != nil {
		return nil, err
	}
	signed, err := client.Checkpoint(ctx)
	if IsNotFound(err) {
		if !l.ChooseKey(logs, o) {
			return nil, nil
		}
		return nil, &evidence.Error{
			Subject: l.Name, Kind: evidence.Integrity,
			Err:    errors.New("SECURITY ERROR: the registry shows no log, and it has one"),
			Detail: fmt.Sprintf("  expected a checkpoint under the key %s\n", l.Key),
			Hint:   "do not use the registry until its operator has explained this",
		}
	}
	if err != nil {
		return nil, host.NoAnswer(l.Name, err)
	}
	if !l.ChooseKey(logs, o) {
		if err := l.AskFirstUse(ctx, o); err != nil {
			return nil, err
		}
	}
	if l.Key == "" {
		return l, nil
	}
	if l.Trust, err = ledger.NewTrust(l.Key, rules.Witnesses, 0); err != nil {
		return nil, evidence.Errorf(evidence.Validation, l.Name, "", err)
	}
	if l.Head, err = l.AcceptCheckpoint(ctx, signed); err != nil {
		return nil, err
	}
	l.judgeHead()
	return l, nil
}

// ChooseKey sets the key that a person named, in the command or in hallmark.toml, or the one that
// this machine accepted before, and reports whether there is one. It adds a failure to the report
// if both exist and differ.
func (l *Log) ChooseKey(logs *machine.Logs, o Options) bool {
	l.keep = true
	known := logs.Registries[l.Name]
	claim := evidence.Claim{Subject: "log of " + l.Name, Scheme: evidence.LogKey, Authority: evidence.Machine}
	for _, from := range []struct{ key, where string }{
		{o.Key, "--log-key"},
		{l.Rules.LogKey, project.ConfigFile + ", log_key"},
		{known.Key, "this machine, since " + known.Since.Format(time.DateTime) + "Z"},
	} {
		switch {
		case from.key == "":
		case l.Key == "":
			l.Key, claim.Text, claim.Where = from.key, from.key, from.where
		case from.key != l.Key:
			e := evidence.Fact(evidence.Claim{
				Subject: claim.Subject, Scheme: evidence.LogKey, Authority: evidence.Machine, Text: from.key,
				Where: from.where,
			}, l.Key)
			e.Observed.From = claim.Where
			l.Report = append(l.Report, e)
			l.Key = "" // nothing is checked with either
			return true
		}
	}
	if l.Key != "" {
		l.Report = append(l.Report, evidence.Fact(claim, l.Key))
	}
	return l.Key != ""
}

// AskFirstUse asks a person about the key that the registry announces. A key that was not accepted
// only serves to compare the registry's answers with each other, and is not stored.
func (l *Log) AskFirstUse(ctx context.Context, o Options) error {
	about, err := l.Client.About(ctx)
	if err != nil {
		return host.NoAnswer(l.Name, err)
	}
	claim := evidence.Claim{Subject: "log of " + l.Name, Scheme: evidence.LogKey, Authority: evidence.Machine}
	if about.LogKey == "" {
		e := evidence.Fact(claim, "")
		e.Reason = "this machine knows no key for it, and the registry announces none"
		l.Report = append(l.Report, e)
		return nil
	}
	if _, err := ledger.ParseVerifier(about.LogKey); err != nil {
		return evidence.Errorf(evidence.Validation, l.Name, "",
			fmt.Errorf("the key that the registry announces: %w", err))
	}
	l.Key, l.keep = about.LogKey, false
	if o.Ask != nil {
		answer, err := o.Ask(l.Name, about.LogKey)
		if err != nil {
			return err
		}
		if answer == host.InformedConsent {
			l.keep = true
			claim.Text, claim.Where = l.Key, "the person at this machine"
			l.Report = append(l.Report, evidence.Fact(claim, l.Key))
			return nil
		}
	}
	e := evidence.Fact(claim, "")
	e.Reason = "nobody on this machine said that it is " + about.LogKey + ", which the registry announces"
	l.Report = append(l.Report, e)
	return nil
}

// judgeHead adds evidence of the witnesses' signatures on the newest checkpoint.
func (l *Log) judgeHead() {
	subject := fmt.Sprintf("log %s, %d entries", l.Head.Origin, l.Head.Size)
	if l.Rules.Quorum > 0 {
		of := func(n int) string { return fmt.Sprintf("%d of %d witnesses", n, len(l.Rules.Witnesses)) }
		found := of(l.Rules.Quorum)
		if n := len(l.Head.Cosignatures); n < l.Rules.Quorum {
			found = of(n)
		}
		l.Report = append(l.Report, evidence.Fact(evidence.Claim{
			Subject: subject, Scheme: evidence.Cosignature, Authority: evidence.Log, Text: of(l.Rules.Quorum),
			Where: project.ConfigFile + ", witness_quorum",
		}, found))
	}
	if l.Rules.MaxAge > 0 {
		want := "cosigned within " + l.Rules.MaxAge.String()
		found, at, now := want, l.Head.CosignedAt(l.Rules.Quorum), l.Host.Now()
		switch {
		case at.IsZero():
			found = "not cosigned by the witnesses that must have seen it"
		case now.Sub(at) > l.Rules.MaxAge:
			found = "stale: cosigned at " + at.Format(time.RFC3339)
		case at.Sub(now) > maxSkew:
			found = "cosigned in the future, at " + at.Format(time.RFC3339)
		}
		l.Report = append(l.Report, evidence.Fact(evidence.Claim{
			Subject: subject, Scheme: evidence.Checkpoint, Authority: evidence.Log, Text: want,
			Where: project.ConfigFile + ", max_age",
		}, found))
	}
}

// maxSkew is how far ahead the clock of a witness may be.
const maxSkew = 10 * time.Minute

// FetchProof fetches and verifies the proof that the record is in the log, and stores it in r.
// Without a log the evidence says that there is no proof.
func (l *Log) FetchProof(ctx context.Context, r *project.RecordLock) (evidence.Report, error) {
	if l == nil || l.Key == "" {
		return l.VerifyProof(ctx, nil, r)
	}
	text, err := l.Client.Proof(ctx, r.Name, r.Version)
	if IsNotFound(err) {
		return evidence.Report{
			evidence.CannotVerify(ProofClaim(*r, l.Head.Origin), evidence.NotFound,
				"the registry has a log, and no proof that the record is in it")}, nil
	}
	if err != nil {
		return nil, host.NoAnswer(r.Subject(), err)
	}
	return l.VerifyProof(ctx, text, r)
}

// VerifyProof verifies the text of a proof for the record r, and stores it in r. Without a log, or without a proof, the
// evidence says so.
func (l *Log) VerifyProof(ctx context.Context, text []byte, r *project.RecordLock) (evidence.Report, error) {
	switch {
	case l == nil:
		return evidence.Report{NoProofEvidence(*r, "the registry has no log")}, nil
	case l.Key == "":
		return nil, nil // the evidence about the key says so
	case len(text) == 0:
		return evidence.Report{evidence.CannotVerify(ProofClaim(*r, l.Head.Origin), evidence.NotFound,
			"the registry has a log, and gave no proof")}, nil
	}
	p, err := ledger.ParseProof(text)
	if err == nil {
		_, err = p.Verify(l.Trust)
	}
	if err != nil {
		return evidence.Report{badProofEvidence(*r, l.Head.Origin, err)}, nil
	}
	s, err := l.AcceptCheckpoint(ctx, p.Checkpoint)
	if err != nil {
		return nil, err
	}
	if len(s.Cosignatures) < l.Rules.Quorum {
		// A log signs a checkpoint before its witnesses do; they have signed the head.
		if l.Head.Size <= p.Index {
			return nil, evidence.Errorf(evidence.Operation, r.Subject(), "try again in a minute",
				fmt.Errorf("the witnesses have not seen entry %d of the log yet", p.Index))
		}
		r := ledger.Reader{At: l.Head.Checkpoint, Fetch: l.TileFetcher(ctx)}
		if p.Hashes, err = r.Prove(p.Index); err != nil {
			return nil, l.tileError(err)
		}
		p.Checkpoint = l.Head.Note
	}
	trust := l.Trust
	if len(l.Head.Cosignatures) >= l.Rules.Quorum { // else that is refused already
		trust.Quorum = l.Rules.Quorum
	}
	r.Proof = string(p.Marshal())
	return ProofEvidence(trust.Log.Name(), trust.Open, *r), nil
}

// ProveArchive verifies the proof that came with the record of an archive, and stores it in r. The evidence begins with
// that of the log itself, and ends with what the log says of the archive later.
func (l *Log) ProveArchive(ctx context.Context, rec registry.ArchiveRecord, r *project.RecordLock) (evidence.Report,
	error) {
	var report evidence.Report
	if l != nil {
		report = slices.Clone(l.Report)
	}
	proven, err := l.VerifyProof(ctx, rec.Proof, r)
	if report = append(report, proven...); err != nil {
		return report, err
	}
	later, err := l.ArchiveEvidence(ctx, rec, r.Proof)
	return append(report, later...), err
}

// ProofEvidence verifies the proof of a record without the network. open verifies the checkpoint
// with the keys that are trusted for that origin.
func ProofEvidence(origin string, open func([]byte) (ledger.Signed, error), r project.RecordLock) evidence.Report {
	p, err := ledger.ParseProof([]byte(r.Proof))
	if err != nil {
		return evidence.Report{badProofEvidence(r, origin, err)}
	}
	s, err := open(p.Checkpoint)
	if err != nil {
		return evidence.Report{badProofEvidence(r, origin, err)}
	}
	proven, err := p.VerifyIn(s)
	if err != nil {
		return evidence.Report{badProofEvidence(r, origin, err)}
	}
	entry := fmt.Sprintf("entry %d of the log %s", proven.Index, proven.Origin)
	in := evidence.Fact(ProofClaim(r, proven.Origin),
		string(proven.Leaf.Kind)+" "+proven.Leaf.Name+"@"+proven.Leaf.Version)
	in.Observed.Digests, in.Observed.From = []digest.Digest{r.ProofDigest()}, entry
	report := evidence.Report{in}
	if !r.Document.IsZero() { // of an archive it is known only while its record is at hand
		report = append(report, evidence.Compare(
			evidence.Claim{Subject: r.Subject(), Scheme: evidence.Document, Authority: evidence.Log,
				Want: []digest.Digest{proven.Leaf.Document}, Where: entry},
			evidence.Observed{Digests: []digest.Digest{r.Document}, From: "the record's document"},
		))
	}
	if !r.Integrity.IsZero() {
		report = append(report, evidence.Compare(
			evidence.Claim{Subject: r.Subject(), Scheme: ContentsScheme(r.Kind), Authority: evidence.Log,
				Want: []digest.Digest{proven.Leaf.ContentIntegrity}, Where: entry},
			evidence.Observed{Digests: []digest.Digest{r.Integrity}, From: "the record's content_integrity"},
		))
	}
	return report
}

// ContentsScheme returns the scheme of the content_integrity of archives of a kind.
func ContentsScheme(kind ledger.Kind) evidence.Scheme {
	if kind == ledger.Plugin {
		return evidence.Tree
	}
	return evidence.FacetTar
}

// ProofClaim returns the claim that the log named origin has an entry for record r.
func ProofClaim(r project.RecordLock, origin string) evidence.Claim {
	return evidence.Claim{
		Subject: r.ProofSubject(), Scheme: evidence.Proof, Authority: evidence.Log,
		Text: string(cmp.Or(r.Kind, ledger.Server)) + " " + r.Subject(), Where: "the log " + origin,
	}
}

func badProofEvidence(r project.RecordLock, origin string, err error) evidence.Evidence {
	return evidence.CannotVerify(ProofClaim(r, origin), evidence.Malformed, err.Error())
}

// NoProofEvidence returns evidence that no proof claims that the record is in a log.
func NoProofEvidence(r project.RecordLock, why string) evidence.Evidence {
	e := evidence.Compare(evidence.Claim{Subject: r.ProofSubject(), Scheme: evidence.Proof, Authority: evidence.Log},
		evidence.Observed{})
	e.Reason = why
	return e
}

// IsNotFound reports whether a registry answered that it does not have the requested thing.
func IsNotFound(err error) bool {
	var p *registry.Problem
	return errors.As(err, &p) && p.Status == http.StatusNotFound
}
