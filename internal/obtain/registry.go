package obtain

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/facet"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/client"
	"github.com/hallmark-mcp/hallmark/internal/store"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/project"
)

// ObtainFromRegistry gets a facet of the registry: a locked one from the store without a request,
// a new one only if the registry confirms it now. It holds the store's fetch lock while it
// downloads.
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
	if found, _, err = a.findStored(ctx, x, claim); err != nil || found { // another process fetched it meanwhile
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

// OfflineError is the error for what would have to be fetched, and must not be.
func OfflineError(subject string) error {
	return evidence.Errorf(evidence.Operation, subject, "run the command again without --offline",
		errors.New("is not in the store, and --offline forbids to fetch it"))
}

// contentsClaim is who says what the contents of x are: the lock, or the registry for a new entry.
func (a *Sources) contentsClaim(x *Archive, locked *project.FacetLock, rec *registry.ArchiveRecord) evidence.Claim {
	c := evidence.Claim{Subject: x.Subject(), Scheme: evidence.FacetTar, Authority: evidence.Lock,
		Where: project.LockFile}
	if locked != nil {
		c.Want = []digest.Digest{locked.Integrity}
		return c
	}
	c.Authority, c.Where, c.Want = evidence.Record, "the registry's record, content_integrity",
		[]digest.Digest{rec.ContentIntegrity}
	return c
}

// findStored looks in the store and audits what it has. A bad slot goes to quarantine, and
// bad is the evidence of it.
func (a *Sources) findStored(ctx context.Context,
	x *Archive, claim evidence.Claim) (found bool, bad evidence.Report, err error) {
	slot, report, err := a.store.AuditClaim(ctx, claim)
	switch {
	case errors.Is(err, store.ErrNotStored):
		return false, nil, nil
	case err != nil:
		return false, nil, err
	case slot == nil && report.Count(evidence.Mismatch) == 0:
		x.Report = append(x.Report, report...) // an unreadable slot is neither a match nor a mismatch
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
	c := evidence.Claim{Subject: project.AssetsSubject(x.Subject()), Scheme: evidence.Document,
		Authority: evidence.Lock, Where: project.LockFile + ", assets"}
	if len(x.Entry.Assets) > 0 {
		c.Want = []digest.Digest{project.AssetsDigest(x.Entry.Assets)}
	}
	x.Report = append(x.Report, evidence.Compare(c, evidence.Observed{
		Digests: []digest.Digest{project.AssetsDigest(slot.Assets)}, From: "the contents",
	}))
	x.Entry.Integrity, x.Entry.Assets = slot.Digest, slot.Assets
}

// confirmVersion chooses the version of a new entry and has the registry and its log confirm it.
func (a *Sources) confirmVersion(ctx context.Context,
	x *Archive, upstream *client.Client) (*registry.ArchiveRecord, error) {
	f := x.Want
	x.Entry = project.FacetLock{Source: f.Source(a.Workspace.Config.Registry), Version: f.Requirement.String()}
	unconfirmed := func(subject string, err error) error {
		cause := evidence.Unreachable
		if trail.IsNotFound(err) {
			cause = evidence.NotFound
		}
		x.Report = append(x.Report, evidence.CannotVerify(evidence.Claim{
			Subject: subject, Scheme: evidence.FacetTar, Authority: evidence.Record,
			Where: "the registry " + a.Workspace.Config.Registry.Name(),
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
			return nil, evidence.Errorf(evidence.Validation, f.Name, "",
				fmt.Errorf("no active version of it satisfies %s", wanted))
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

// NewestVersion is the newest active version that satisfies a requirement.
func NewestVersion(r facet.Requirement, all []registry.ArchiveRecord) (string, bool) {
	return r.Newest(ActiveVersions(all))
}

// ActiveVersions are the versions that their publisher has neither deprecated nor deleted.
func ActiveVersions(all []registry.ArchiveRecord) (versions []string) {
	for _, rec := range all {
		if rec.Status == registry.Active {
			versions = append(versions, rec.Version)
		}
	}
	return versions
}

// download fetches the archive of x, hashing it as it comes.
func (a *Sources) download(ctx context.Context, x *Archive, upstream *client.Client, locked *project.FacetLock,
	rec *registry.ArchiveRecord) error {
	body, size, err := upstream.OpenArchive(ctx, string(x.ledgerKind()), x.Want.Name, x.Entry.Version)
	if err != nil {
		var p *registry.Problem
		if errors.As(err, &p) && p.Status == http.StatusGone {
			return evidence.Errorf(evidence.Refused, x.Subject(), "choose another version",
				errors.New("was deleted by its publisher, and is not in the store"))
		}
		return client.ExplainAnswer(x.Subject(), evidence.Operation, err)
	}
	defer body.Close()
	subject, where := x.Subject(), "the registry's record, "
	transport := evidence.Claim{Subject: subject, Scheme: evidence.File, Authority: evidence.Record,
		Where: where + "content_hash", Want: []digest.Digest{rec.ContentHash}}
	document, err := rec.Document()
	if err != nil {
		return evidence.Errorf(evidence.Validation, subject, "", err)
	}
	return a.unpack(ctx, x, packedArchive{
		body: &host.ProgressReader{Body: body, What: subject, Total: size, Tell: a.o.Progress}, from: upstream.Base,
		transport: &transport,
		claims: append(lockClaims(subject, locked), evidence.Claim{
			Subject: subject, Scheme: evidence.FacetTar, Authority: evidence.Record, Where: where + "content_integrity",
			Want: []digest.Digest{rec.ContentIntegrity},
		}),
		document: document,
	})
}
