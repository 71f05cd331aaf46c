package obtain

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/client"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/project"
)

// registrySource is the project's registry, which has facets and servers in versions.
type registrySource struct{ elsewhere }

// obtain gets an archive of the registry: a locked one from the store without a request, a new one only
// if the registry confirms it now. It holds the store's fetch lock while it downloads.
func (registrySource) obtain(ctx context.Context, s *Sources, r Request, locked *project.FacetLock,
	q *inquiry) (stored, error) {
	upstream := s.Workspace.Registry()
	if upstream == nil {
		return stored{}, workspace.NoRegistryError(r.Want.Name)
	}
	var c claims
	if locked != nil {
		c = claims{kind: r.Kind, name: r.Want.Name, entry: *locked, locked: locked}
	} else {
		var err error
		if c, err = s.confirmVersion(ctx, r, upstream, q); err != nil {
			return stored{}, err
		}
	}
	found, here, err := s.takeStored(ctx, c, q)
	switch {
	case err != nil || here.slot != nil:
		return found, err
	case s.o.Offline:
		return stored{}, q.refuseOffline(here, c.subject())
	}
	found, err = s.fetchExclusively(ctx, c, upstream, q)
	found.repaired = found.repaired || here.quarantined
	return found, err
}

// fetchExclusively fetches an archive while no other process does: one that fetched it meanwhile spares
// the download.
func (s *Sources) fetchExclusively(ctx context.Context, c claims, upstream *client.Client, q *inquiry) (stored, error) {
	unlock, err := s.store.LockFetch(ctx, c.contents().Want[0])
	if err != nil {
		return stored{}, err
	}
	defer unlock()
	found, here, err := s.takeStored(ctx, c, q)
	if err != nil || here.slot != nil {
		return found, err
	}
	if c.record == nil {
		rec, err := upstream.ArchiveRecord(ctx, string(c.ledgerKind()), c.name, c.entry.Version)
		if err != nil {
			return stored{}, client.ExplainAnswer(c.subject(), evidence.Operation, err)
		}
		c.record = &rec
	}
	if err := demandLockedProof(c, q); err != nil {
		return stored{}, err
	}
	if found, err = s.download(ctx, c, upstream, q); err != nil {
		return stored{}, err
	}
	found.repaired = here.quarantined
	if c.locked != nil {
		err = s.verifyLockedRecord(ctx, c, q)
	}
	return found, err
}

// confirmVersion chooses the version of a new entry and has the registry and its log confirm it.
func (s *Sources) confirmVersion(ctx context.Context, r Request,
	upstream *client.Client, q *inquiry) (claims, error) {
	f, home := r.Want, s.Workspace.Config.Registry
	c := claims{kind: r.Kind, name: f.Name,
		entry: project.FacetLock{Source: f.Source(home), Version: f.Requirement.String()}}
	unconfirmed := func(subject string, err error) (claims, error) {
		cause := evidence.Unreachable
		if trail.IsNotFound(err) {
			cause = evidence.NotFound
		}
		if _, err := q.judge(evidence.CannotVerify(evidence.Claim{
			Subject: subject, Scheme: evidence.FacetTar, Authority: evidence.Record,
			Where: "the registry " + home.Name(),
		}, cause, "no confirmation: "+err.Error())); err != nil {
			return c, err
		}
		return c, err
	}
	if s.o.Offline {
		return unconfirmed(f.Name, errors.New("--offline forbids to ask the registry"))
	}
	if !f.Requirement.Exact() {
		all, err := upstream.ArchiveVersions(ctx, string(c.ledgerKind()), f.Name)
		if err != nil {
			return unconfirmed(f.Name, err)
		}
		choose, wanted := f.Requirement.Newest, f.Requirement.String()
		if r.Kind == ledger.Artifact {
			choose, wanted = r.Floor.Newest, r.Floor.String()+" or a later version below the next major one"
		}
		version, ok := choose(ActiveVersions(all))
		if !ok {
			return c, evidence.Errorf(evidence.Validation, f.Name, "",
				fmt.Errorf("no active version of it satisfies %s", wanted))
		}
		c.entry.Version = version
	}
	rec, err := upstream.ArchiveRecord(ctx, string(c.ledgerKind()), f.Name, c.entry.Version)
	if err != nil {
		return unconfirmed(c.subject(), err)
	}
	c.record = &rec
	c.entry.Proof, err = s.verifyRecord(ctx, c, q)
	return c, err
}

// findVersions asks the registry for the newest active versions.
func (registrySource) findVersions(ctx context.Context, w *workspace.Workspace, f project.Facet,
	_ *project.FacetLock) (Versions, evidence.Report, error) {
	upstream := w.Registry()
	if upstream == nil {
		return Versions{}, nil, workspace.NoRegistryError(f.Name)
	}
	records, err := upstream.ArchiveVersions(ctx, string(ledger.Facet), f.Name)
	if err != nil {
		return Versions{}, nil, client.ExplainAnswer(f.Name, evidence.Operation, err)
	}
	active := ActiveVersions(records)
	anything, _ := artifact.ParseRequirement("*")
	var v Versions
	v.Wanted, _ = f.Requirement.Newest(active)
	v.Newest, _ = anything.Newest(active)
	return v, nil, nil
}

// findName fails: a registry has a facet by its name.
func (registrySource) findName(context.Context, *workspace.Workspace, project.Facet, bool) (string, error) {
	return "", evidence.Errorf(evidence.Validation, "", "", errors.New("a facet needs a name"))
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

// download fetches an archive whose record is known, hashing it as it comes.
func (s *Sources) download(ctx context.Context, c claims, upstream *client.Client, q *inquiry) (stored, error) {
	subject := c.subject()
	body, size, err := upstream.OpenArchive(ctx, string(c.ledgerKind()), c.name, c.entry.Version)
	if err != nil {
		if p, ok := errors.AsType[*registry.Problem](err); ok && p.Status == http.StatusGone {
			hint := "choose another version"
			if c.ledgerKind() == ledger.Facet {
				hint += ": 'hallmark info " + host.QuoteArguments([]string{c.name}) + "' shows the newest that is left"
			}
			return stored{}, evidence.Errorf(evidence.Refused, subject, hint,
				errors.New("was deleted by its publisher, and is not in the store"))
		}
		return stored{}, client.ExplainAnswer(subject, evidence.Operation, err)
	}
	defer body.Close()
	transport := RecordClaim(subject, evidence.File, "content_hash", c.record.ContentHash)
	document, err := c.record.Document()
	if err != nil {
		return stored{}, evidence.Errorf(evidence.Validation, subject, "", err)
	}
	return s.unpack(ctx, c, packedArchive{
		body: &host.ProgressReader{Body: body, What: subject, Total: size, Tell: s.o.Progress}, from: upstream.Base,
		transport: &transport, claims: append(c.ofLock(), c.recorded()), document: document,
	}, q)
}
