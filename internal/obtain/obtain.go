// Package obtain gets an archive from a registry, git or disk, and admits it into the store.
package obtain

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/hallmark-mcp/hallmark/archive"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/facet"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/lockentry"
	"github.com/hallmark-mcp/hallmark/internal/pack"
	"github.com/hallmark-mcp/hallmark/internal/record"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/client"
	"github.com/hallmark-mcp/hallmark/internal/store"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/owed"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/serverjson"
)

// Options say how archives are got from their sources.
type Options struct {
	Frozen   bool // hallmark.lock is the only authority
	Offline  bool // ask nobody
	Limits   archive.Limits
	Log      trail.Options
	Progress func(what string, done, total int64)
}

// Sources are where the archives of a project come from, registry, git and disk, and the store
// that admits them.
type Sources struct {
	Workspace *workspace.Workspace
	o         Options
	store     *store.Store           // of contents of archives
	Fresh     func(name string) bool // resolve anew, whatever the lock has
	Declared  map[string]bool        // declared by this very command, which accepts what the source has now
	Books     func() (owed.Books, error)

	mu     sync.Mutex      // guards report
	Report evidence.Report // of no single archive: the log's key and head

	logMu sync.Mutex // one at a time talks with the log
}

// Archive is a facet whose contents are in the store, or the evidence of why not.
type Archive struct {
	Kind     ledger.Kind // zero: a facet; else an artifact, a server that is packed from source
	Floor    facet.Floor // of an artifact
	Want     project.Facet
	before   *project.FacetLock
	Entry    project.FacetLock
	Slot     *store.Slot
	Manifest *facet.Manifest         // nil for an artifact
	Source   *facet.Source           // nil for a facet
	Record   *registry.ArchiveRecord // that confirmed it; nil if nobody was asked
	Report   evidence.Report
	Repaired bool // the store had a slot that was bad
}

func (x *Archive) Subject() string { return x.Entry.Subject(x.Want.Name) }

// LockedRecord is the record of a facet as its entry has it; nil if it is of no registry.
func (x *Archive) LockedRecord() *project.RecordLock {
	if x.Entry.Source.Kind != project.FromRegistry {
		return nil
	}
	return &project.RecordLock{Registry: x.Entry.Source.Registry, Proof: x.Entry.Proof}
}

// ledgerKind is how registries and their logs call what x is.
func (x *Archive) ledgerKind() ledger.Kind { return cmp.Or(x.Kind, ledger.Facet) }

// Open opens the store for the archives of a project. fresh may be nil: nothing is
// resolved anew.
func Open(w *workspace.Workspace, o Options, fresh func(string) bool) (*Sources, error) {
	st, err := w.Host.Store()
	if err != nil {
		return nil, err
	}
	if fresh == nil {
		fresh = func(string) bool { return false }
	}
	w.LogOptions = o.Log
	return &Sources{Workspace: w, o: o, store: st.WithScheme(evidence.FacetTar), Fresh: fresh, Books: sync.OnceValues(w.Books)}, nil
}

// Judge decides about the evidence of x together with more.
func (a *Sources) Judge(x *Archive, more evidence.Report) (policy.Admitted, error) {
	v := policy.Judge(policy.Install, a.Settings(), slices.Concat(x.Report, more))
	return v.Admitted(), v.Err()
}

func (a *Sources) Settings() policy.Settings { return policy.Settings{RequireLock: a.o.Frozen} }

// Obtain gets one facet into the store, audited, with its evidence.
func (a *Sources) Obtain(ctx context.Context, x *Archive) error {
	f := x.Want
	var locked *project.FacetLock
	if entry, ok := a.Workspace.Lock.Facet(f.Name); ok {
		x.before = &entry
		if entry.Covers(f, a.Workspace.Config.Registry) && (a.o.Frozen || !a.Fresh(f.Name)) {
			locked = &entry
		}
	}
	expected, err := a.expectations(x)
	if err != nil {
		return err
	}
	if a.o.Frozen && locked == nil && x.Kind != ledger.Artifact { // whoever brings it along: nothing is resolved
		entry, ok := a.Workspace.Lock.Facet(f.Name)
		x.Report = append(x.Report, expected.Of(evidence.Source).Settle(evidence.Report{SourceEvidence(a.Workspace.Config.Registry, f, entry, ok)})...)
		if _, err := a.Judge(x, nil); err != nil {
			return err
		}
	}
	if x.before == nil { // nothing is asked for what must not be resolved anew
		x.Report = append(x.Report, expected.Of(evidence.Source).Settle(nil)...)
		if _, err := a.Judge(x, nil); err != nil {
			return err
		}
	}
	if f.Kind() != project.FromRegistry {
		if err := a.settleProof(x, project.FacetLock{Source: f.Source(a.Workspace.Config.Registry)}); err != nil {
			return err
		}
		if _, err := a.Judge(x, nil); err != nil {
			return err
		}
	}
	switch f.Kind() {
	case project.FromLocal:
		err = a.obtainFromDirectory(ctx, x, locked)
	case project.FromGit:
		err = a.obtainFromGit(ctx, x, locked)
	default:
		err = a.ObtainFromRegistry(ctx, x, locked)
	}
	if err != nil {
		return err
	}
	if locked != nil && f.Kind() == project.FromRegistry {
		proof, err := a.verifyLockedProof(ctx, f.Name, *locked)
		if err != nil {
			return err
		}
		x.Report = append(x.Report, expected.Of(evidence.Proof, evidence.LogKey, evidence.Checkpoint, evidence.Cosignature).Settle(proof)...)
	}
	if _, err := a.Judge(x, nil); err != nil {
		return err
	}
	return x.ReadManifest()
}

func SourceClaim(name string) evidence.Claim {
	return evidence.Claim{Subject: name, Scheme: evidence.Source, Authority: evidence.Lock, Where: project.LockFile}
}

// SourceEvidence compares how a facet is declared with how its entry says that it was.
func SourceEvidence(registry project.Registry, f project.Facet, entry project.FacetLock, locked bool) evidence.Evidence {
	c := SourceClaim(f.Name)
	if !locked {
		return evidence.Fact(c, "")
	}
	c.Text = entry.Source.String() + " " + entry.Version
	if entry.Covers(f, registry) {
		return evidence.Fact(c, c.Text)
	}
	found := f.Source(registry).String()
	if f.Kind() == project.FromRegistry {
		found += " " + f.Requirement.String()
	} else if f.Commit != "" {
		found += " commit " + f.Commit
	}
	e := evidence.Fact(c, found)
	e.Observed.From = project.ConfigFile
	return e
}

// expectations is what is owed about a facet. That hallmark.toml declares it is what an
// installation is for, if it may write the lock.
func (a *Sources) expectations(x *Archive) (owed.List, error) {
	if x.Kind == ledger.Artifact { // a server, whose own flow says what is owed
		return nil, nil
	}
	books, err := a.Books()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(books.Facet(x.Want.Name), func(e owed.Expectation) bool {
		return e.Scheme == evidence.Source && (e.Authority != evidence.Lock || e.By == evidence.Project)
	}), nil
}

// settleProof adds what is owed about the proof of the entry that x is to get, and not there.
func (a *Sources) settleProof(x *Archive, entry project.FacetLock) error {
	if x.Kind == ledger.Artifact {
		return nil
	}
	books, err := a.Books()
	if err == nil {
		x.Report = books.FacetProof(x.Want.Name, entry).Settle(x.Report)
	}
	return err
}

// verifyLockedProof verifies the proof that the lock has of a facet, as installedProof does.
func (a *Sources) verifyLockedProof(ctx context.Context, name string, entry project.FacetLock) (evidence.Report, error) {
	return lockentry.InstalledProof(ctx, a.Workspace, &project.RecordLock{
		Kind: ledger.Facet, Registry: entry.Source.Registry, Name: name, Version: entry.Version, Integrity: entry.Integrity, Proof: entry.Proof,
	}, a.o.Offline)
}

// ReadManifest parses the manifest of a facet from its slot, whose bytes were just audited.
func (x *Archive) ReadManifest() error {
	data, err := host.ReadFile(filepath.Join(x.Slot.Dir(), facet.ManifestFile), facet.MaxManifest)
	if err != nil {
		return err
	}
	if !evidence.Same(x.Entry.Assets[facet.ManifestFile], digest.FromBytes(data)) {
		return evidence.Errorf(evidence.Integrity, x.Subject(), "", errors.New(facet.ManifestFile+" changed after the audit"))
	}
	if x.Manifest, err = facet.ParseManifest(data); err != nil {
		return err
	}
	if x.Manifest.Name != x.Want.Name || x.Manifest.Version != x.Entry.Version {
		return evidence.Errorf(evidence.Integrity, x.Subject(), "", fmt.Errorf("its %s is that of %s", facet.ManifestFile, project.FacetSubject(x.Manifest.Name, x.Manifest.Version)))
	}
	return nil
}

// ObtainFromRegistry gets a facet of the registry: a locked one from the store without asking
// anybody, a new one only if the registry confirms it now.
func (a *Sources) ObtainFromRegistry(ctx context.Context, x *Archive, locked *project.FacetLock) error {
	upstream := a.Workspace.Registry()
	if upstream == nil {
		return workspace.NoRegistryError(x.Want.Name)
	}
	var rec *registry.ArchiveRecord
	if locked != nil {
		x.Entry = *locked
	} else {
		var err error
		if rec, err = a.confirmVersion(ctx, x, upstream); err != nil {
			return err
		}
	}
	claim := a.contentsClaim(x, locked, rec)
	found, bad, err := a.findStored(ctx, x, claim)
	if err != nil || found {
		return err
	}
	if a.o.Offline {
		if len(bad) > 0 {
			x.Report = append(x.Report, bad...)
			_, err := a.Judge(x, nil)
			return err
		}
		return OfflineError(x.Subject())
	}
	done, err := a.store.LockFetch(ctx, claim.Want[0])
	if err != nil {
		return err
	}
	defer done()
	if found, _, err = a.findStored(ctx, x, claim); err != nil || found { // somebody else fetched it meanwhile
		return err
	}
	if rec == nil {
		r, err := upstream.ArchiveRecord(ctx, string(x.ledgerKind()), x.Want.Name, x.Entry.Version)
		if err != nil {
			return client.ExplainAnswer(x.Subject(), evidence.Operation, err)
		}
		rec = &r
	}
	if err := a.download(ctx, x, upstream, locked, rec); err != nil || locked == nil {
		return err
	}
	return a.addLater(ctx, x, *rec)
}

func OfflineError(subject string) error {
	return evidence.Errorf(evidence.Operation, subject, "run the command again without --offline", errors.New("is not in the store, and --offline forbids to fetch it"))
}

// contentsClaim is who says what the contents of x are: the lock, or the registry for a new entry.
func (a *Sources) contentsClaim(x *Archive, locked *project.FacetLock, rec *registry.ArchiveRecord) evidence.Claim {
	c := evidence.Claim{Subject: x.Subject(), Scheme: evidence.FacetTar, Authority: evidence.Lock, Where: project.LockFile}
	if locked != nil {
		c.Want = []digest.Digest{locked.Integrity}
		return c
	}
	c.Authority, c.Where, c.Want = evidence.Record, "the registry's record, content_integrity", []digest.Digest{rec.ContentIntegrity}
	return c
}

// findStored looks in the store and audits what it has. A bad slot goes to quarantine, and
// bad is the evidence of it.
func (a *Sources) findStored(ctx context.Context, x *Archive, claim evidence.Claim) (found bool, bad evidence.Report, err error) {
	slot, report, err := a.store.AuditClaim(ctx, claim)
	switch {
	case errors.Is(err, store.ErrNotStored):
		return false, nil, nil
	case err != nil:
		return false, nil, err
	case slot == nil && report.Count(evidence.Mismatch) == 0:
		x.Report = append(x.Report, report...) // could not be read, which decides nothing
		_, err := a.Judge(x, nil)
		return false, report, err
	case slot == nil:
		x.Repaired = true
		if _, err := a.store.Quarantine(ctx, claim.Want[0], "it differs from what it is to be"); err != nil {
			return false, report, err
		}
		return false, report, nil
	}
	x.Report = append(x.Report, report...)
	a.acceptSlot(x, slot)
	return true, nil, nil
}

// acceptSlot takes a slot whose bytes were hashed: the list of its files follows from them.
func (a *Sources) acceptSlot(x *Archive, slot *store.Slot) {
	x.Slot = slot
	if x.Kind == ledger.Artifact { // locks have no list of its files, which follows from its integrity
		x.Entry.Integrity, x.Entry.Assets = slot.Digest, slot.Assets
		return
	}
	c := evidence.Claim{Subject: project.AssetsSubject(x.Subject()), Scheme: evidence.Document, Authority: evidence.Lock, Where: project.LockFile + ", assets"}
	if len(x.Entry.Assets) > 0 {
		c.Want = []digest.Digest{project.AssetsDigest(x.Entry.Assets)}
	}
	x.Report = append(x.Report, evidence.Compare(c, evidence.Observed{
		Digests: []digest.Digest{project.AssetsDigest(slot.Assets)}, From: "the contents",
	}))
	x.Entry.Integrity, x.Entry.Assets = slot.Digest, slot.Assets
}

// confirmVersion chooses the version of a new entry and has the registry and its log confirm it.
func (a *Sources) confirmVersion(ctx context.Context, x *Archive, upstream *client.Client) (*registry.ArchiveRecord, error) {
	f := x.Want
	x.Entry = project.FacetLock{Source: f.Source(a.Workspace.Config.Registry), Version: f.Requirement.String()}
	unconfirmed := func(subject string, err error) error {
		cause := evidence.Unreachable
		if trail.IsNotFound(err) {
			cause = evidence.NotFound
		}
		x.Report = append(x.Report, evidence.CannotVerify(evidence.Claim{
			Subject: subject, Scheme: evidence.FacetTar, Authority: evidence.Record, Where: "the registry " + a.Workspace.Config.Registry.Name(),
		}, cause, "no confirmation: "+err.Error()))
		_, err = a.Judge(x, nil)
		return err
	}
	if a.o.Offline {
		return nil, unconfirmed(f.Name, errors.New("--offline forbids to ask the registry"))
	}
	if !f.Requirement.Exact() {
		all, err := upstream.ArchiveVersions(ctx, string(x.ledgerKind()), f.Name)
		if err != nil {
			return nil, unconfirmed(f.Name, err)
		}
		choose, wanted := f.Requirement.Newest, f.Requirement.String()
		if x.Kind == ledger.Artifact {
			choose, wanted = x.Floor.Newest, x.Floor.String()+" or a later version below the next major one"
		}
		version, ok := choose(ActiveVersions(all))
		if !ok {
			return nil, evidence.Errorf(evidence.Validation, f.Name, "", fmt.Errorf("no active version of it satisfies %s", wanted))
		}
		x.Entry.Version = version
	}
	rec, err := upstream.ArchiveRecord(ctx, string(x.ledgerKind()), f.Name, x.Entry.Version)
	if err != nil {
		return nil, unconfirmed(x.Subject(), err)
	}
	x.Entry.Proof, err = a.addRecord(ctx, x, rec)
	x.Record = &rec
	return &rec, err
}

// addRecord adds what the record of x says of it, and what its registry's log does, and returns
// the proof that it is in the log.
func (a *Sources) addRecord(ctx context.Context, x *Archive, rec registry.ArchiveRecord) (proof string, err error) {
	x.Report = append(x.Report, record.ArchiveStatus(rec))
	document, err := rec.Document()
	if err != nil {
		return "", evidence.Errorf(evidence.Validation, x.Subject(), "", err)
	}
	logged := project.RecordLock{
		Kind: x.ledgerKind(), Registry: a.Workspace.Config.Registry.Name(), Name: rec.Name, Version: rec.Version, Document: document, Integrity: rec.ContentIntegrity,
	}
	more, err := a.proveRecord(ctx, rec.Proof, &logged)
	if x.Report = append(x.Report, more...); err != nil {
		return "", err
	}
	if logged.Proof != "" {
		more, err = a.Workspace.Log.ArchiveEvidence(ctx, rec, logged.Proof)
		if x.Report = append(x.Report, more...); err != nil {
			return "", err
		}
	}
	entry := x.Entry
	entry.Proof = logged.Proof
	if err := a.settleProof(x, entry); err != nil {
		return "", err
	}
	_, err = a.Judge(x, nil) // nothing is fetched that is not accepted
	return logged.Proof, err
}

// addLater adds what became of a facet that is locked and had to be fetched again. It was
// confirmed when it was locked, so that where nobody said which key the registry's log has,
// nobody is asked now. A server that is being started asks no log.
func (a *Sources) addLater(ctx context.Context, x *Archive, rec registry.ArchiveRecord) error {
	if x.Kind == ledger.Artifact {
		return nil
	}
	if known, err := a.Workspace.KnowsLog(a.Workspace.Config.Registry.Name()); err != nil || !known {
		return err
	}
	_, err := a.addRecord(ctx, x, rec)
	return err
}

// NewestVersion is the newest active version that satisfies a requirement.
func NewestVersion(r facet.Requirement, all []registry.ArchiveRecord) (string, bool) {
	return r.Newest(ActiveVersions(all))
}

func ActiveVersions(all []registry.ArchiveRecord) (versions []string) {
	for _, rec := range all {
		if rec.Status == registry.Active {
			versions = append(versions, rec.Version)
		}
	}
	return versions
}

// proveRecord verifies the proof that a record is in its registry's log, and puts it into r.
func (a *Sources) proveRecord(ctx context.Context, proof []byte, r *project.RecordLock) (evidence.Report, error) {
	a.logMu.Lock()
	defer a.logMu.Unlock()
	w := a.Workspace
	if !w.LogRead {
		var err error
		if w.Log, err = trail.Read(ctx, w.Host, w.Registry(), w.Config.Registry, w.LogOptions); err != nil {
			return nil, err
		}
		w.LogRead = true
		if w.Log != nil {
			a.mu.Lock()
			a.Report = append(a.Report, w.Log.Report...)
			a.mu.Unlock()
		}
	}
	switch {
	case w.Log == nil:
		return evidence.Report{trail.NoProofEvidence(*r, "the registry has no log")}, nil
	case w.Log.Key == "":
		return w.Log.Report, nil
	case len(proof) == 0:
		return append(slices.Clone(w.Log.Report), evidence.CannotVerify(trail.ProofClaim(*r, w.Log.Head.Origin), evidence.NotFound, "the registry has a log, and gave no proof")), nil
	}
	more, err := w.Log.VerifyProof(ctx, proof, r)
	return slices.Concat(w.Log.Report, more), err
}

// download fetches the archive of x, hashing it as it comes.
func (a *Sources) download(ctx context.Context, x *Archive, upstream *client.Client, locked *project.FacetLock, rec *registry.ArchiveRecord) error {
	body, size, err := upstream.OpenArchive(ctx, string(x.ledgerKind()), x.Want.Name, x.Entry.Version)
	if err != nil {
		var p *registry.Problem
		if errors.As(err, &p) && p.Status == http.StatusGone {
			return evidence.Errorf(evidence.Refused, x.Subject(), "choose another version", errors.New("was deleted by its publisher, and is not in the store"))
		}
		return client.ExplainAnswer(x.Subject(), evidence.Operation, err)
	}
	defer body.Close()
	subject, where := x.Subject(), "the registry's record, "
	transport := evidence.Claim{Subject: subject, Scheme: evidence.File, Authority: evidence.Record, Where: where + "content_hash", Want: []digest.Digest{rec.ContentHash}}
	document, err := rec.Document()
	if err != nil {
		return evidence.Errorf(evidence.Validation, subject, "", err)
	}
	return a.unpack(ctx, x, packedArchive{
		body: &host.ProgressReader{Body: body, What: subject, Total: size, Tell: a.o.Progress}, from: upstream.Base, transport: &transport,
		claims: append(lockClaims(subject, locked), evidence.Claim{
			Subject: subject, Scheme: evidence.FacetTar, Authority: evidence.Record, Where: where + "content_integrity", Want: []digest.Digest{rec.ContentIntegrity},
		}),
		document: document,
	})
}

// lockClaims is what the lock says of an archive; nothing for a new entry.
func lockClaims(subject string, locked *project.FacetLock) []evidence.Claim {
	if locked == nil {
		return nil
	}
	claims := []evidence.Claim{{Subject: subject, Scheme: evidence.FacetTar, Authority: evidence.Lock, Where: project.LockFile, Want: []digest.Digest{locked.Integrity}}}
	for _, path := range slices.Sorted(maps.Keys(locked.Assets)) {
		claims = append(claims, evidence.Claim{
			Subject: facet.MemberSubject(subject, path), Scheme: evidence.File, Authority: evidence.Lock, Where: project.LockFile + ", assets", Want: []digest.Digest{locked.Assets[path]},
		})
	}
	return claims
}

// packedArchive is an archive on its way into the store.
type packedArchive struct {
	body      io.Reader
	from      string           // for messages
	transport *evidence.Claim  // of the archive's bytes; nil for one that we packed ourselves
	claims    []evidence.Claim // of its contents, in the order in which they decide
	document  digest.Digest    // of the manifest, as the registry shows it; zero if nobody does
}

// unpack reads an archive into a staging directory, recomputes everything from its bytes,
// and keeps it if all that is claimed of it holds.
func (a *Sources) unpack(ctx context.Context, x *Archive, u packedArchive) error {
	st, err := a.store.Stage()
	if err != nil {
		return err
	}
	defer st.Discard()
	root, err := os.OpenRoot(st.Dir())
	if err != nil {
		return err
	}
	defer root.Close()
	h := digest.NewHasher()
	body := io.TeeReader(u.body, h)
	arch, err := facet.Read(body, a.o.Limits, func(e archive.Entry, r io.Reader) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return writeMember(root, e.Path, r)
	})
	if err != nil {
		return a.unreadableError(x, u, body, h, err)
	}
	root.Close()
	manifest, from := []byte(nil), facet.ManifestFile
	switch {
	case x.Kind == ledger.Artifact && arch.Source == nil:
		return evidence.Errorf(evidence.Validation, x.Want.Name, "", errors.New("holds a facet, and no server that was packed from source"))
	case x.Kind == ledger.Artifact:
		manifest, from = arch.Source.Raw, facet.SourceFile
		if arch.Source.Runtime == facet.RuntimeBinary {
			if err := os.Chmod(filepath.Join(st.Dir(), filepath.FromSlash(arch.Source.Entry)), 0o700); err != nil {
				return err
			}
		}
	case arch.Manifest == nil:
		return evidence.Errorf(evidence.Validation, x.Want.Name, "", errors.New("holds a server that was packed from source, and no facet"))
	default:
		manifest = arch.Manifest.Raw
	}
	if len(u.claims) == 0 { // nobody says which version it is to be
		x.Entry.Version = arch.Version()
	}
	subject := x.Subject()
	if got := project.FacetSubject(arch.Name(), arch.Version()); got != subject {
		kind := evidence.Integrity
		if len(u.claims) == 0 {
			kind = evidence.Validation
		}
		return evidence.Errorf(kind, subject, "", fmt.Errorf("what %s gives is %s", u.from, got))
	}
	claims := u.claims
	if u.transport != nil {
		claims = append([]evidence.Claim{*u.transport}, claims...)
		st.ContentHash = arch.ContentHash
	}
	report := arch.Evidence(subject, u.from, claims...)
	if !u.document.IsZero() {
		canonical, err := serverjson.Canonical(manifest)
		if err != nil {
			return evidence.Errorf(evidence.Validation, subject, "", err)
		}
		report = append(report, evidence.Compare(
			evidence.Claim{Subject: subject, Scheme: evidence.Document, Authority: evidence.Record, Where: "the registry's record, manifest", Want: []digest.Digest{u.document}},
			evidence.Observed{Digests: []digest.Digest{digest.FromBytes(canonical)}, From: from + " in the archive"}))
	}
	x.Report = append(x.Report, report...)
	adm, err := a.Judge(x, nil)
	if err != nil {
		return err
	}
	slot, err := a.store.Put(ctx, adm, subject, st, subject+" from "+x.Entry.Source.String())
	if err != nil {
		return err
	}
	a.acceptSlot(x, slot)
	return nil
}

// unreadableError is the error for an archive that cannot be read. One that was damaged on its
// way is told from one that was published so by its transport hash.
func (a *Sources) unreadableError(x *Archive, u packedArchive, rest io.Reader, h *digest.Hasher, err error) error {
	if u.transport == nil || evidence.ClassOf(err) != evidence.Validation {
		return evidence.Errorf(evidence.ClassOf(err), x.Subject(), "", err)
	}
	limit := a.o.Limits.Packed
	if limit == 0 {
		limit = archive.MaxPacked
	}
	if _, drained := io.Copy(io.Discard, io.LimitReader(rest, limit+1)); drained != nil {
		return evidence.Errorf(evidence.Operation, x.Subject(), "", drained)
	}
	e := evidence.Compare(*u.transport, evidence.Observed{Digests: []digest.Digest{h.Digest(digest.SHA256)}, Size: h.Size(), From: u.from})
	if e.Outcome == evidence.Match {
		return evidence.Errorf(evidence.Validation, x.Subject(), "it was published so; tell its publisher", err)
	}
	x.Report = append(x.Report, e)
	_, err = a.Judge(x, nil)
	return err
}

// writeMember writes one member of an archive below a staging directory.
func writeMember(root *os.Root, path string, r io.Reader) error {
	name := filepath.FromSlash(path)
	if err := root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	return errors.Join(err, f.Close())
}

// obtainFromDirectory packs a facet of a directory of this machine. The lock follows the
// directory, unless it is the only authority.
func (a *Sources) obtainFromDirectory(ctx context.Context, x *Archive, locked *project.FacetLock) error {
	x.Entry = project.FacetLock{Source: x.Want.Source(a.Workspace.Config.Registry)}
	dir := filepath.FromSlash(x.Want.Path)
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(a.Workspace.Dir, dir)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return evidence.Errorf(evidence.Validation, x.Want.Name, "", err)
	}
	defer root.Close()
	source, where := &pack.SourceDir{Root: root}, x.Want.Name+" in "+x.Want.Path
	if err := source.List(); err != nil {
		return pack.Explain(where, err)
	}
	var packed bytes.Buffer
	if _, err := facet.Pack(ctx, &packed, source.Files, source.Open, a.o.Limits); err != nil {
		return pack.Explain(where, err)
	}
	u := packedArchive{body: &packed, from: x.Want.Path}
	if a.o.Frozen && locked != nil {
		x.Entry = *locked
		u.claims = lockClaims(x.Subject(), locked)
	}
	return a.unpack(ctx, x, u)
}
