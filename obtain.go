package hallmark

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
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/client"
	"github.com/hallmark-mcp/hallmark/internal/store"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/owed"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/serverjson"
)

// sourceOptions say how archives are got from their sources.
type sourceOptions struct {
	Frozen   bool // hallmark.lock is the only authority
	Offline  bool // ask nobody
	Limits   archive.Limits
	Log      LogOptions
	Progress func(what string, done, total int64)
}

// archiveSources are where the archives of a project come from, registry, git and disk, and the store
// that admits them.
type archiveSources struct {
	w        *workspace
	o        sourceOptions
	store    *store.Store           // of contents of archives
	fresh    func(name string) bool // resolve anew, whatever the lock has
	declared map[string]bool        // declared by this very command, which accepts what the source has now
	books    func() (owed.Books, error)

	mu     sync.Mutex      // guards report
	report evidence.Report // of no single archive: the log's key and head

	logOnce sync.Mutex // one at a time talks with the log
}

// heldFacet is a facet whose contents are in the store, or the evidence of why not.
type heldFacet struct {
	kind     ledger.Kind // zero: a facet; else an artifact, a server that is packed from source
	floor    facet.Floor // of an artifact
	want     project.Facet
	before   *project.FacetLock
	entry    project.FacetLock
	slot     *store.Slot
	manifest *facet.Manifest         // nil for an artifact
	source   *facet.Source           // nil for a facet
	record   *registry.ArchiveRecord // that confirmed it; nil if nobody was asked
	report   evidence.Report
	repaired bool // the store had a slot that was bad
}

func (x *heldFacet) subject() string { return x.entry.Subject(x.want.Name) }

// lockedRecord is the record of a facet as its entry has it; nil if it is of no registry.
func (x *heldFacet) lockedRecord() *project.RecordLock {
	if x.entry.Source.Kind != project.FromRegistry {
		return nil
	}
	return &project.RecordLock{Registry: x.entry.Source.Registry, Proof: x.entry.Proof}
}

// ledgerKind is how registries and their logs call what x is.
func (x *heldFacet) ledgerKind() ledger.Kind { return cmp.Or(x.kind, ledger.Facet) }

// openSources opens the store for the archives of a project. fresh may be nil: nothing is
// resolved anew.
func openSources(w *workspace, o sourceOptions, fresh func(string) bool) (*archiveSources, error) {
	st, err := w.host.store()
	if err != nil {
		return nil, err
	}
	if fresh == nil {
		fresh = func(string) bool { return false }
	}
	w.logOptions = o.Log
	return &archiveSources{w: w, o: o, store: st.WithScheme(evidence.FacetTar), fresh: fresh, books: sync.OnceValues(w.books)}, nil
}

// judge decides about the evidence of x together with more.
func (a *archiveSources) judge(x *heldFacet, more evidence.Report) (policy.Admitted, error) {
	v := policy.Judge(policy.Install, a.settings(), slices.Concat(x.report, more))
	return v.Admitted(), v.Err()
}

func (a *archiveSources) settings() policy.Settings { return policy.Settings{RequireLock: a.o.Frozen} }

// obtain gets one facet into the store, audited, with its evidence.
func (a *archiveSources) obtain(ctx context.Context, x *heldFacet) error {
	f := x.want
	var locked *project.FacetLock
	if entry, ok := a.w.lock.Facet(f.Name); ok {
		x.before = &entry
		if entry.Covers(f, a.w.config.Registry) && (a.o.Frozen || !a.fresh(f.Name)) {
			locked = &entry
		}
	}
	expected, err := a.expected(x)
	if err != nil {
		return err
	}
	if a.o.Frozen && locked == nil && x.kind != ledger.Artifact { // whoever brings it along: nothing is resolved
		entry, ok := a.w.lock.Facet(f.Name)
		x.report = append(x.report, expected.Of(evidence.Source).Settle(evidence.Report{sourceEvidence(a.w.config.Registry, f, entry, ok)})...)
		if _, err := a.judge(x, nil); err != nil {
			return err
		}
	}
	if x.before == nil { // nothing is asked for what must not be resolved anew
		x.report = append(x.report, expected.Of(evidence.Source).Settle(nil)...)
		if _, err := a.judge(x, nil); err != nil {
			return err
		}
	}
	if f.Kind() != project.FromRegistry {
		if err := a.proofOwed(x, project.FacetLock{Source: f.Source(a.w.config.Registry)}); err != nil {
			return err
		}
		if _, err := a.judge(x, nil); err != nil {
			return err
		}
	}
	switch f.Kind() {
	case project.FromLocal:
		err = a.fromDirectory(ctx, x, locked)
	case project.FromGit:
		err = a.fromGit(ctx, x, locked)
	default:
		err = a.fromRegistry(ctx, x, locked)
	}
	if err != nil {
		return err
	}
	if locked != nil && f.Kind() == project.FromRegistry {
		proof, err := a.lockedProof(ctx, f.Name, *locked)
		if err != nil {
			return err
		}
		x.report = append(x.report, expected.Of(evidence.Proof, evidence.LogKey, evidence.Checkpoint, evidence.Cosignature).Settle(proof)...)
	}
	if _, err := a.judge(x, nil); err != nil {
		return err
	}
	return x.read()
}

func sourceClaim(name string) evidence.Claim {
	return evidence.Claim{Subject: name, Scheme: evidence.Source, Authority: evidence.Lock, Where: project.LockFile}
}

// sourceEvidence compares how a facet is declared with how its entry says that it was.
func sourceEvidence(registry project.Registry, f project.Facet, entry project.FacetLock, locked bool) evidence.Evidence {
	c := sourceClaim(f.Name)
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

// expected is what is owed about a facet. That hallmark.toml declares it is what an
// installation is for, if it may write the lock.
func (a *archiveSources) expected(x *heldFacet) (owed.List, error) {
	if x.kind == ledger.Artifact { // a server, whose own flow says what is owed
		return nil, nil
	}
	books, err := a.books()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(books.Facet(x.want.Name), func(e owed.Expectation) bool {
		return e.Scheme == evidence.Source && (e.Authority != evidence.Lock || e.By == evidence.Project)
	}), nil
}

// proofOwed adds what is owed about the proof of the entry that x is to get, and not there.
func (a *archiveSources) proofOwed(x *heldFacet, entry project.FacetLock) error {
	if x.kind == ledger.Artifact {
		return nil
	}
	books, err := a.books()
	if err == nil {
		x.report = books.FacetProof(x.want.Name, entry).Settle(x.report)
	}
	return err
}

// lockedProof verifies the proof that the lock has of a facet, as installedProof does.
func (a *archiveSources) lockedProof(ctx context.Context, name string, entry project.FacetLock) (evidence.Report, error) {
	return a.w.installedProof(ctx, &project.RecordLock{
		Kind: ledger.Facet, Registry: entry.Source.Registry, Name: name, Version: entry.Version, Integrity: entry.Integrity, Proof: entry.Proof,
	}, a.o.Offline)
}

// read parses the manifest of a facet from its slot, whose bytes were just audited.
func (x *heldFacet) read() error {
	data, err := readFile(filepath.Join(x.slot.Dir(), facet.ManifestFile), facet.MaxManifest)
	if err != nil {
		return err
	}
	if !evidence.Same(x.entry.Assets[facet.ManifestFile], digest.FromBytes(data)) {
		return evidence.Errorf(evidence.Integrity, x.subject(), "", errors.New(facet.ManifestFile+" changed after the audit"))
	}
	if x.manifest, err = facet.ParseManifest(data); err != nil {
		return err
	}
	if x.manifest.Name != x.want.Name || x.manifest.Version != x.entry.Version {
		return evidence.Errorf(evidence.Integrity, x.subject(), "", fmt.Errorf("its %s is that of %s", facet.ManifestFile, project.FacetSubject(x.manifest.Name, x.manifest.Version)))
	}
	return nil
}

// fromRegistry gets a facet of the registry: a locked one from the store without asking
// anybody, a new one only if the registry confirms it now.
func (a *archiveSources) fromRegistry(ctx context.Context, x *heldFacet, locked *project.FacetLock) error {
	client := a.w.registry()
	if client == nil {
		return noRegistry(x.want.Name)
	}
	var rec *registry.ArchiveRecord
	if locked != nil {
		x.entry = *locked
	} else {
		var err error
		if rec, err = a.confirm(ctx, x, client); err != nil {
			return err
		}
	}
	claim := a.claim(x, locked, rec)
	found, bad, err := a.stored(ctx, x, claim)
	if err != nil || found {
		return err
	}
	if a.o.Offline {
		if len(bad) > 0 {
			x.report = append(x.report, bad...)
			_, err := a.judge(x, nil)
			return err
		}
		return offline(x.subject())
	}
	done, err := a.store.LockFetch(ctx, claim.Want[0])
	if err != nil {
		return err
	}
	defer done()
	if found, _, err = a.stored(ctx, x, claim); err != nil || found { // somebody else fetched it meanwhile
		return err
	}
	if rec == nil {
		r, err := client.ArchiveRecord(ctx, string(x.ledgerKind()), x.want.Name, x.entry.Version)
		if err != nil {
			return answered(x.subject(), evidence.Operation, err)
		}
		rec = &r
	}
	if err := a.download(ctx, x, client, locked, rec); err != nil || locked == nil {
		return err
	}
	return a.since(ctx, x, *rec)
}

func noRegistry(subject string) error {
	return evidence.Errorf(evidence.Validation, subject, "add [registry] url = \"…\" to "+project.ConfigFile, errors.New("no registry is configured"))
}

func offline(subject string) error {
	return evidence.Errorf(evidence.Operation, subject, "run the command again without --offline", errors.New("is not in the store, and --offline forbids to fetch it"))
}

// claim is who says what the contents of x are: the lock, or the registry for a new entry.
func (a *archiveSources) claim(x *heldFacet, locked *project.FacetLock, rec *registry.ArchiveRecord) evidence.Claim {
	c := evidence.Claim{Subject: x.subject(), Scheme: evidence.FacetTar, Authority: evidence.Lock, Where: project.LockFile}
	if locked != nil {
		c.Want = []digest.Digest{locked.Integrity}
		return c
	}
	c.Authority, c.Where, c.Want = evidence.Record, "the registry's record, content_integrity", []digest.Digest{rec.ContentIntegrity}
	return c
}

// stored looks in the store and audits what it has. A bad slot goes to quarantine, and
// bad is the evidence of it.
func (a *archiveSources) stored(ctx context.Context, x *heldFacet, claim evidence.Claim) (found bool, bad evidence.Report, err error) {
	slot, report, err := a.store.AuditClaim(ctx, claim)
	switch {
	case errors.Is(err, store.ErrNotStored):
		return false, nil, nil
	case err != nil:
		return false, nil, err
	case slot == nil && report.Count(evidence.Mismatch) == 0:
		x.report = append(x.report, report...) // could not be read, which decides nothing
		_, err := a.judge(x, nil)
		return false, report, err
	case slot == nil:
		x.repaired = true
		if _, err := a.store.Quarantine(ctx, claim.Want[0], "it differs from what it is to be"); err != nil {
			return false, report, err
		}
		return false, report, nil
	}
	x.report = append(x.report, report...)
	a.accept(x, slot)
	return true, nil, nil
}

// accept takes a slot whose bytes were hashed: the list of its files follows from them.
func (a *archiveSources) accept(x *heldFacet, slot *store.Slot) {
	x.slot = slot
	if x.kind == ledger.Artifact { // locks have no list of its files, which follows from its integrity
		x.entry.Integrity, x.entry.Assets = slot.Digest, slot.Assets
		return
	}
	c := evidence.Claim{Subject: project.AssetsSubject(x.subject()), Scheme: evidence.Document, Authority: evidence.Lock, Where: project.LockFile + ", assets"}
	if len(x.entry.Assets) > 0 {
		c.Want = []digest.Digest{project.AssetsDigest(x.entry.Assets)}
	}
	x.report = append(x.report, evidence.Compare(c, evidence.Observed{
		Digests: []digest.Digest{project.AssetsDigest(slot.Assets)}, From: "the contents",
	}))
	x.entry.Integrity, x.entry.Assets = slot.Digest, slot.Assets
}

// confirm chooses the version of a new entry and has the registry and its log confirm it.
func (a *archiveSources) confirm(ctx context.Context, x *heldFacet, client *client.Client) (*registry.ArchiveRecord, error) {
	f := x.want
	x.entry = project.FacetLock{Source: f.Source(a.w.config.Registry), Version: f.Requirement.String()}
	unconfirmed := func(subject string, err error) error {
		cause := evidence.Unreachable
		if notFound(err) {
			cause = evidence.NotFound
		}
		x.report = append(x.report, evidence.CannotVerify(evidence.Claim{
			Subject: subject, Scheme: evidence.FacetTar, Authority: evidence.Record, Where: "the registry " + a.w.config.Registry.Name(),
		}, cause, "no confirmation: "+err.Error()))
		_, err = a.judge(x, nil)
		return err
	}
	if a.o.Offline {
		return nil, unconfirmed(f.Name, errors.New("--offline forbids to ask the registry"))
	}
	if !f.Requirement.Exact() {
		all, err := client.ArchiveVersions(ctx, string(x.ledgerKind()), f.Name)
		if err != nil {
			return nil, unconfirmed(f.Name, err)
		}
		choose, wanted := f.Requirement.Newest, f.Requirement.String()
		if x.kind == ledger.Artifact {
			choose, wanted = x.floor.Newest, x.floor.String()+" or a later version below the next major one"
		}
		version, ok := choose(activeVersions(all))
		if !ok {
			return nil, evidence.Errorf(evidence.Validation, f.Name, "", fmt.Errorf("no active version of it satisfies %s", wanted))
		}
		x.entry.Version = version
	}
	rec, err := client.ArchiveRecord(ctx, string(x.ledgerKind()), f.Name, x.entry.Version)
	if err != nil {
		return nil, unconfirmed(x.subject(), err)
	}
	x.entry.Proof, err = a.vouched(ctx, x, rec)
	x.record = &rec
	return &rec, err
}

// vouched adds what the record of x says of it, and what its registry's log does, and returns
// the proof that it is in the log.
func (a *archiveSources) vouched(ctx context.Context, x *heldFacet, rec registry.ArchiveRecord) (proof string, err error) {
	x.report = append(x.report, recordStatus(rec))
	document, err := rec.Document()
	if err != nil {
		return "", evidence.Errorf(evidence.Validation, x.subject(), "", err)
	}
	logged := project.RecordLock{
		Kind: x.ledgerKind(), Registry: a.w.config.Registry.Name(), Name: rec.Name, Version: rec.Version, Document: document, Integrity: rec.ContentIntegrity,
	}
	more, err := a.prove(ctx, rec.Proof, &logged)
	if x.report = append(x.report, more...); err != nil {
		return "", err
	}
	if logged.Proof != "" {
		more, err = a.w.log.said(ctx, rec, logged.Proof)
		if x.report = append(x.report, more...); err != nil {
			return "", err
		}
	}
	entry := x.entry
	entry.Proof = logged.Proof
	if err := a.proofOwed(x, entry); err != nil {
		return "", err
	}
	_, err = a.judge(x, nil) // nothing is fetched that is not accepted
	return logged.Proof, err
}

// since adds what became of a facet that is locked and had to be fetched again. It was
// confirmed when it was locked, so that where nobody said which key the registry's log has,
// nobody is asked now. A server that is being started asks no log.
func (a *archiveSources) since(ctx context.Context, x *heldFacet, rec registry.ArchiveRecord) error {
	if x.kind == ledger.Artifact {
		return nil
	}
	if known, err := a.w.knowsLog(a.w.config.Registry.Name()); err != nil || !known {
		return err
	}
	_, err := a.vouched(ctx, x, rec)
	return err
}

// newest is the newest active version that satisfies a requirement.
func newest(r facet.Requirement, all []registry.ArchiveRecord) (string, bool) {
	return r.Newest(activeVersions(all))
}

func activeVersions(all []registry.ArchiveRecord) (versions []string) {
	for _, rec := range all {
		if rec.Status == registry.Active {
			versions = append(versions, rec.Version)
		}
	}
	return versions
}

func recordStatus(rec registry.ArchiveRecord) evidence.Evidence {
	c := evidence.Claim{Subject: rec.Subject(), Scheme: evidence.Status, Authority: evidence.Record, Text: string(registry.Active), Where: "the record's status"}
	if rec.Status == registry.Deprecated {
		return evidence.Waive(c, evidence.Observed{Text: string(rec.Status)}, rec.StatusMessage)
	}
	return evidence.Fact(c, string(rec.Status))
}

// prove verifies the proof that a record is in its registry's log, and puts it into r.
func (a *archiveSources) prove(ctx context.Context, proof []byte, r *project.RecordLock) (evidence.Report, error) {
	a.logOnce.Lock()
	defer a.logOnce.Unlock()
	w := a.w
	if !w.logRead {
		var err error
		if w.log, err = readLog(ctx, w.host, w.registry(), w.config.Registry, w.logOptions); err != nil {
			return nil, err
		}
		w.logRead = true
		if w.log != nil {
			a.mu.Lock()
			a.report = append(a.report, w.log.report...)
			a.mu.Unlock()
		}
	}
	switch {
	case w.log == nil:
		return evidence.Report{noProof(*r, "the registry has no log")}, nil
	case w.log.key == "":
		return w.log.report, nil
	case len(proof) == 0:
		return append(slices.Clone(w.log.report), evidence.CannotVerify(proofClaim(*r, w.log.head.Origin), evidence.NotFound, "the registry has a log, and gave no proof")), nil
	}
	more, err := w.log.proven(ctx, proof, r)
	return slices.Concat(w.log.report, more), err
}

// download fetches the archive of x, hashing it as it comes.
func (a *archiveSources) download(ctx context.Context, x *heldFacet, client *client.Client, locked *project.FacetLock, rec *registry.ArchiveRecord) error {
	body, size, err := client.OpenArchive(ctx, string(x.ledgerKind()), x.want.Name, x.entry.Version)
	if err != nil {
		var p *registry.Problem
		if errors.As(err, &p) && p.Status == http.StatusGone {
			return evidence.Errorf(evidence.Refused, x.subject(), "choose another version", errors.New("was deleted by its publisher, and is not in the store"))
		}
		return answered(x.subject(), evidence.Operation, err)
	}
	defer body.Close()
	subject, where := x.subject(), "the registry's record, "
	transport := evidence.Claim{Subject: subject, Scheme: evidence.File, Authority: evidence.Record, Where: where + "content_hash", Want: []digest.Digest{rec.ContentHash}}
	document, err := rec.Document()
	if err != nil {
		return evidence.Errorf(evidence.Validation, subject, "", err)
	}
	return a.unpack(ctx, x, unpacking{
		body: &watched{r: body, what: subject, total: size, tell: a.o.Progress}, from: client.Base, transport: &transport,
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

// watched tells how much was read.
type watched struct {
	r           io.Reader
	what        string
	done, total int64
	tell        func(what string, done, total int64)
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.r.Read(p)
	if w.done += int64(n); w.tell != nil {
		w.tell(w.what, w.done, w.total)
	}
	return n, err
}

// unpacking is an archive on its way into the store.
type unpacking struct {
	body      io.Reader
	from      string           // for messages
	transport *evidence.Claim  // of the archive's bytes; nil for one that we packed ourselves
	claims    []evidence.Claim // of its contents, in the order in which they decide
	document  digest.Digest    // of the manifest, as the registry shows it; zero if nobody does
}

// unpack reads an archive into a staging directory, recomputes everything from its bytes,
// and keeps it if all that is claimed of it holds.
func (a *archiveSources) unpack(ctx context.Context, x *heldFacet, u unpacking) error {
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
		return a.unreadable(x, u, body, h, err)
	}
	root.Close()
	manifest, from := []byte(nil), facet.ManifestFile
	switch {
	case x.kind == ledger.Artifact && arch.Source == nil:
		return evidence.Errorf(evidence.Validation, x.want.Name, "", errors.New("holds a facet, and no server that was packed from source"))
	case x.kind == ledger.Artifact:
		manifest, from = arch.Source.Raw, facet.SourceFile
		if arch.Source.Runtime == facet.RuntimeBinary {
			if err := os.Chmod(filepath.Join(st.Dir(), filepath.FromSlash(arch.Source.Entry)), 0o700); err != nil {
				return err
			}
		}
	case arch.Manifest == nil:
		return evidence.Errorf(evidence.Validation, x.want.Name, "", errors.New("holds a server that was packed from source, and no facet"))
	default:
		manifest = arch.Manifest.Raw
	}
	if len(u.claims) == 0 { // nobody says which version it is to be
		x.entry.Version = arch.Version()
	}
	subject := x.subject()
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
	x.report = append(x.report, report...)
	adm, err := a.judge(x, nil)
	if err != nil {
		return err
	}
	slot, err := a.store.Put(ctx, adm, subject, st, subject+" from "+x.entry.Source.String())
	if err != nil {
		return err
	}
	a.accept(x, slot)
	return nil
}

// unreadable is the error for an archive that cannot be read. One that was damaged on its
// way is told from one that was published so by its transport hash.
func (a *archiveSources) unreadable(x *heldFacet, u unpacking, rest io.Reader, h *digest.Hasher, err error) error {
	if u.transport == nil || evidence.ClassOf(err) != evidence.Validation {
		return evidence.Errorf(evidence.ClassOf(err), x.subject(), "", err)
	}
	limit := a.o.Limits.Packed
	if limit == 0 {
		limit = archive.MaxPacked
	}
	if _, drained := io.Copy(io.Discard, io.LimitReader(rest, limit+1)); drained != nil {
		return evidence.Errorf(evidence.Operation, x.subject(), "", drained)
	}
	e := evidence.Compare(*u.transport, evidence.Observed{Digests: []digest.Digest{h.Digest(digest.SHA256)}, Size: h.Size(), From: u.from})
	if e.Outcome == evidence.Match {
		return evidence.Errorf(evidence.Validation, x.subject(), "it was published so; tell its publisher", err)
	}
	x.report = append(x.report, e)
	_, err = a.judge(x, nil)
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

// fromDirectory packs a facet of a directory of this machine. The lock follows the
// directory, unless it is the only authority.
func (a *archiveSources) fromDirectory(ctx context.Context, x *heldFacet, locked *project.FacetLock) error {
	x.entry = project.FacetLock{Source: x.want.Source(a.w.config.Registry)}
	dir := filepath.FromSlash(x.want.Path)
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(a.w.dir, dir)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return evidence.Errorf(evidence.Validation, x.want.Name, "", err)
	}
	defer root.Close()
	source, where := &sourceDir{root: root}, x.want.Name+" in "+x.want.Path
	if err := source.list(); err != nil {
		return packError(where, err)
	}
	var packed bytes.Buffer
	if _, err := facet.Pack(ctx, &packed, source.files, source.open, a.o.Limits); err != nil {
		return packError(where, err)
	}
	u := unpacking{body: &packed, from: x.want.Path}
	if a.o.Frozen && locked != nil {
		x.entry = *locked
		u.claims = lockClaims(x.subject(), locked)
	}
	return a.unpack(ctx, x, u)
}
