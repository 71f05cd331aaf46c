package hallmark

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/client"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/project"
)

// LogOptions are what a command says about the log of a registry, besides the rules of
// hallmark.toml.
type LogOptions struct {
	Key string // verifier key, "" if none is given
	// Ask asks a person whether key is the one of the registry's log, which this machine
	// sees for the first time; nil where nobody can be asked.
	Ask func(registry, key string) (Consent, error)
}

// registryLog is the log of a registry, as this machine relies on it.
type registryLog struct {
	host   *Host
	client *client.Client
	rules  project.Registry
	name   string       // of the registry
	key    string       // "" if there is none to check anything with
	keep   bool         // what is seen is kept: the key was chosen, not just announced
	trust  ledger.Trust // without a quorum, which is judged by itself
	head   ledger.Signed
	report evidence.Report // about the key and the head

	reading sync.Mutex     // guards reader
	reader  *ledger.Reader // of the head's tree; nil before the first entry is read
}

// readLog reads the head of the registry's log, and checks it against the one that this
// machine saw last. A registry without a log gives nil, unless it must have one: its key
// is known, so it had one.
func readLog(ctx context.Context, h *Host, client *client.Client, rules project.Registry, o LogOptions) (*registryLog, error) {
	l := &registryLog{host: h, client: client, rules: rules, name: rules.Name()}
	logs, err := h.logs()
	if err != nil {
		return nil, err
	}
	signed, err := client.Checkpoint(ctx)
	if notFound(err) {
		if !l.chooseKey(logs, o) {
			return nil, nil
		}
		return nil, &evidence.Error{
			Subject: l.name, Kind: evidence.Integrity, Err: errors.New("SECURITY ERROR: the registry shows no log, and it has one"),
			Detail: fmt.Sprintf("  expected a checkpoint under the key %s\n", l.key),
			Hint:   "do not use the registry until its operator has explained this",
		}
	}
	if err != nil {
		return nil, unanswered(l.name, err)
	}
	if !l.chooseKey(logs, o) {
		if err := l.firstUse(ctx, o); err != nil {
			return nil, err
		}
	}
	if l.key == "" {
		return l, nil
	}
	if l.trust, err = ledger.NewTrust(l.key, rules.Witnesses, 0); err != nil {
		return nil, evidence.Errorf(evidence.Validation, l.name, "", err)
	}
	if l.head, err = l.see(ctx, signed); err != nil {
		return nil, err
	}
	l.judgeHead()
	return l, nil
}

// chooseKey takes the key that a person named, in the command or in hallmark.toml, or
// the one that this machine accepted before, and reports whether there is one. They must
// be the same.
func (l *registryLog) chooseKey(logs *project.Logs, o LogOptions) bool {
	l.keep = true
	known := logs.Registries[l.name]
	claim := evidence.Claim{Subject: "log of " + l.name, Scheme: evidence.LogKey, Authority: evidence.Machine}
	for _, from := range []struct{ key, where string }{
		{o.Key, "--log-key"},
		{l.rules.LogKey, project.ConfigFile + ", log_key"},
		{known.Key, "this machine, since " + known.Since.Format(time.DateTime) + "Z"},
	} {
		switch {
		case from.key == "":
		case l.key == "":
			l.key, claim.Text, claim.Where = from.key, from.key, from.where
		case from.key != l.key:
			e := evidence.Fact(evidence.Claim{
				Subject: claim.Subject, Scheme: evidence.LogKey, Authority: evidence.Machine, Text: from.key, Where: from.where,
			}, l.key)
			e.Observed.From = claim.Where
			l.report = append(l.report, e)
			l.key = "" // nothing is checked with either
			return true
		}
	}
	if l.key != "" {
		l.report = append(l.report, evidence.Fact(claim, l.key))
	}
	return l.key != ""
}

// firstUse asks a person about the key that the registry announces. A key that nobody
// accepted serves to find out whether the registry agrees with itself, and is not kept.
func (l *registryLog) firstUse(ctx context.Context, o LogOptions) error {
	about, err := l.client.About(ctx)
	if err != nil {
		return unanswered(l.name, err)
	}
	claim := evidence.Claim{Subject: "log of " + l.name, Scheme: evidence.LogKey, Authority: evidence.Machine}
	if about.LogKey == "" {
		e := evidence.Fact(claim, "")
		e.Reason = "this machine knows no key for it, and the registry announces none"
		l.report = append(l.report, e)
		return nil
	}
	if _, err := ledger.ParseVerifier(about.LogKey); err != nil {
		return evidence.Errorf(evidence.Validation, l.name, "", fmt.Errorf("the key that the registry announces: %w", err))
	}
	l.key, l.keep = about.LogKey, false
	if o.Ask != nil {
		answer, err := o.Ask(l.name, about.LogKey)
		if err != nil {
			return err
		}
		if answer == Given {
			l.keep = true
			claim.Text, claim.Where = l.key, "the person at this machine"
			l.report = append(l.report, evidence.Fact(claim, l.key))
			return nil
		}
	}
	e := evidence.Fact(claim, "")
	e.Reason = "nobody on this machine said that it is " + about.LogKey + ", which the registry announces"
	l.report = append(l.report, e)
	return nil
}

// see verifies a checkpoint of the log, demands that it and the newest one that this
// machine saw are of one history, and keeps it if it is newer. Whatever contradicts what
// was seen is a SECURITY ERROR, after which nothing is kept.
func (l *registryLog) see(ctx context.Context, signed []byte) (ledger.Signed, error) {
	s, err := l.trust.Open(signed)
	if err != nil {
		kind := evidence.Integrity
		if errors.Is(err, ledger.ErrSignature) {
			kind = evidence.Signature
		}
		return s, &evidence.Error{
			Subject: l.name, Kind: kind, Err: err, Detail: "  expected the key " + l.key + "\n",
			Hint: "this is not the log that is relied on; do not use the registry until its operator has explained it",
		}
	}
	for {
		logs, err := l.host.logs()
		if err != nil {
			return s, err
		}
		kept, ok := logs.Newest(l.key)
		if !ok {
			kept, ok = l.head, l.head.Note != nil // what was seen by this command
		}
		if ok {
			if err := l.oneHistory(ctx, kept, s); err != nil {
				return s, err
			}
		}
		if !l.keep {
			return s, nil
		}
		kept, _ = logs.Newest(l.key)
		done, err := l.host.keepCheckpoint(ctx, l.name, l.key, kept, s)
		if done || err != nil {
			return s, err
		}
	}
}

// oneHistory checks that the smaller tree of the two is the beginning of the larger.
func (l *registryLog) oneHistory(ctx context.Context, kept, shown ledger.Signed) error {
	older, newer := kept.Checkpoint, shown.Checkpoint
	if older.Size > newer.Size {
		older, newer = newer, older // an older checkpoint is shown, which proves to be of the same log or is refused
	}
	r := ledger.Reader{At: newer, Fetch: l.tiles(ctx)}
	err := r.CheckExtends(older)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ledger.ErrFork):
	case notFound(err) && kept.Size > shown.Size:
		err = fmt.Errorf("%w: it went back from %d entries to %d", ledger.ErrFork, kept.Size, shown.Size)
	default:
		return evidence.Errorf(evidence.ClassOf(err), l.name, "", err)
	}
	return forkError(l.name, "this machine was shown", kept.Note, "the registry shows", shown.Note, err)
}

// forkError says that a log contradicts itself, with both checkpoints in full: together
// they are a proof that others can verify.
func forkError(name, first string, one []byte, second string, other []byte, err error) error {
	var b strings.Builder
	for _, c := range []struct {
		title string
		note  []byte
	}{{first, one}, {second, other}} {
		fmt.Fprintf(&b, "  %s:\n", c.title)
		for line := range strings.Lines(string(c.note)) {
			b.WriteString("    " + strings.TrimSuffix(line, "\n") + "\n")
		}
	}
	b.WriteString("  A log only grows. Either the registry was set back to an older state, or somebody who has its key\n" +
		"  shows different histories to different people. Nothing was changed on this machine.\n")
	return &evidence.Error{
		Subject: name, Kind: evidence.Integrity, Err: fmt.Errorf("SECURITY ERROR: %w", err), Detail: b.String(),
		Hint: "keep this text; both checkpoints are signed, and prove it. Install nothing from the registry, tell its operator and others who use it, and see docs/ledger.md, Incident",
	}
}

// judgeHead adds what the witnesses say of the newest checkpoint.
func (l *registryLog) judgeHead() {
	subject := fmt.Sprintf("log %s, %d entries", l.head.Origin, l.head.Size)
	if l.rules.Quorum > 0 {
		of := func(n int) string { return fmt.Sprintf("%d of %d witnesses", n, len(l.rules.Witnesses)) }
		found := of(l.rules.Quorum)
		if n := len(l.head.Cosignatures); n < l.rules.Quorum {
			found = of(n)
		}
		l.report = append(l.report, evidence.Fact(evidence.Claim{
			Subject: subject, Scheme: evidence.Cosignature, Authority: evidence.Log, Text: of(l.rules.Quorum), Where: project.ConfigFile + ", witness_quorum",
		}, found))
	}
	if l.rules.MaxAge > 0 {
		want := "cosigned within " + l.rules.MaxAge.String()
		found, at, now := want, l.head.CosignedAt(l.rules.Quorum), l.host.Now()
		switch {
		case at.IsZero():
			found = "not cosigned by the witnesses that must have seen it"
		case now.Sub(at) > l.rules.MaxAge:
			found = "stale: cosigned at " + at.Format(time.RFC3339)
		case at.Sub(now) > maxSkew:
			found = "cosigned in the future, at " + at.Format(time.RFC3339)
		}
		l.report = append(l.report, evidence.Fact(evidence.Claim{
			Subject: subject, Scheme: evidence.Checkpoint, Authority: evidence.Log, Text: want, Where: project.ConfigFile + ", max_age",
		}, found))
	}
}

// maxSkew is how far ahead the clock of a witness may be.
const maxSkew = 10 * time.Minute

// prove fetches and verifies the proof that the record is in the log, and puts it into r.
// Without a log there is none, which is evidence too.
func (l *registryLog) prove(ctx context.Context, r *project.RecordLock) (evidence.Report, error) {
	if l == nil {
		return evidence.Report{noProof(*r, "the registry has no log")}, nil
	}
	if l.key == "" {
		return nil, nil // the evidence about the key says so
	}
	text, err := l.client.Proof(ctx, r.Name, r.Version)
	if notFound(err) {
		return evidence.Report{evidence.CannotVerify(proofClaim(*r, l.head.Origin), evidence.NotFound, "the registry has a log, and no proof that the record is in it")}, nil
	}
	if err != nil {
		return nil, unanswered(r.Subject(), err)
	}
	return l.proven(ctx, text, r)
}

// proven verifies the text of a proof for the record r, and puts it into r.
func (l *registryLog) proven(ctx context.Context, text []byte, r *project.RecordLock) (evidence.Report, error) {
	p, err := ledger.ParseProof(text)
	if err == nil {
		_, err = p.Verify(l.trust)
	}
	if err != nil {
		return evidence.Report{badProof(*r, l.head.Origin, err)}, nil
	}
	s, err := l.see(ctx, p.Checkpoint)
	if err != nil {
		return nil, err
	}
	if len(s.Cosignatures) < l.rules.Quorum {
		// The log signs at once, witnesses follow; the head is what they have seen.
		if l.head.Size <= p.Index {
			return nil, evidence.Errorf(evidence.Operation, r.Subject(), "try again in a minute",
				fmt.Errorf("the witnesses have not seen entry %d of the log yet", p.Index))
		}
		r := ledger.Reader{At: l.head.Checkpoint, Fetch: l.tiles(ctx)}
		if p.Hashes, err = r.Prove(p.Index); err != nil {
			return nil, l.tileError(err)
		}
		p.Checkpoint = l.head.Note
	}
	trust := l.trust
	if len(l.head.Cosignatures) >= l.rules.Quorum { // else that is refused already
		trust.Quorum = l.rules.Quorum
	}
	r.Proof = string(p.Marshal())
	return proofEvidence(trust.Log.Name(), trust.Open, *r), nil
}

// proofEvidence verifies the proof of a record without the network. Its checkpoint is
// opened with open, as the trust in the log of that origin has it.
func proofEvidence(origin string, open func([]byte) (ledger.Signed, error), r project.RecordLock) evidence.Report {
	p, err := ledger.ParseProof([]byte(r.Proof))
	if err != nil {
		return evidence.Report{badProof(r, origin, err)}
	}
	s, err := open(p.Checkpoint)
	if err != nil {
		return evidence.Report{badProof(r, origin, err)}
	}
	proven, err := p.VerifyIn(s)
	if err != nil {
		return evidence.Report{badProof(r, origin, err)}
	}
	entry := fmt.Sprintf("entry %d of the log %s", proven.Index, proven.Origin)
	in := evidence.Fact(proofClaim(r, proven.Origin), string(proven.Leaf.Kind)+" "+proven.Leaf.Name+"@"+proven.Leaf.Version)
	in.Observed.Digests, in.Observed.From = []digest.Digest{r.ProofDigest()}, entry
	report := evidence.Report{in}
	if !r.Document.IsZero() { // of an archive it is known only while its record is at hand
		report = append(report, evidence.Compare(
			evidence.Claim{Subject: r.Subject(), Scheme: evidence.Document, Authority: evidence.Log, Want: []digest.Digest{proven.Leaf.Document}, Where: entry},
			evidence.Observed{Digests: []digest.Digest{r.Document}, From: "the record's document"},
		))
	}
	if !r.Integrity.IsZero() {
		report = append(report, evidence.Compare(
			evidence.Claim{Subject: r.Subject(), Scheme: contentsOf(r.Kind), Authority: evidence.Log, Want: []digest.Digest{proven.Leaf.ContentIntegrity}, Where: entry},
			evidence.Observed{Digests: []digest.Digest{r.Integrity}, From: "the record's content_integrity"},
		))
	}
	return report
}

// contentsOf is the scheme of the content_integrity of archives of a kind.
func contentsOf(kind ledger.Kind) evidence.Scheme {
	if kind == ledger.Plugin {
		return evidence.Tree
	}
	return evidence.FacetTar
}

func proofClaim(r project.RecordLock, origin string) evidence.Claim {
	return evidence.Claim{
		Subject: r.ProofSubject(), Scheme: evidence.Proof, Authority: evidence.Log,
		Text: string(cmp.Or(r.Kind, ledger.Server)) + " " + r.Subject(), Where: "the log " + origin,
	}
}

func badProof(r project.RecordLock, origin string, err error) evidence.Evidence {
	return evidence.CannotVerify(proofClaim(r, origin), evidence.Malformed, err.Error())
}

// noProof is evidence that nobody claims of the record that it is in a log.
func noProof(r project.RecordLock, why string) evidence.Evidence {
	e := evidence.Compare(evidence.Claim{Subject: r.ProofSubject(), Scheme: evidence.Proof, Authority: evidence.Log}, evidence.Observed{})
	e.Reason = why
	return e
}

func notFound(err error) bool {
	var p *registry.Problem
	return errors.As(err, &p) && p.Status == http.StatusNotFound
}
