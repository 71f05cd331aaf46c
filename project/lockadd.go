package project

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/surface"
)

// Add sets the entry of a server, whose digests of the surface come from shown. Each
// artifact, package lock, tree, record, proof and surface that its entry did not have before
// must have been admitted under its subject for [policy.Add].
func (l *Lock) Add(adm policy.Admitted, name string, s ServerLock, shown *surface.Surface) error {
	s.Surface, s.APISurface, s.SurfaceItems = shown.Digest(), shown.APISurface(), shown.ItemDigests()
	s = s.complete().withEmptyMembers()
	if s.Record != nil {
		r := *s.Record
		r.Log = cmp.Or(originOf(r.Proof), l.Log(r.Registry))
		s.Record = &r
	}
	if err := errors.Join(s.check(), s.checkMembers()); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	old := l.servers[name]
	for ref, d := range s.Artifacts {
		if err := permitAdd(adm, ref, old.Artifacts[ref], d); err != nil {
			return err
		}
	}
	if err := s.Record.permitAdd(adm, name, old.Record); err != nil {
		return err
	}
	if err := s.Closure.permitAdd(adm, name, old.Closure); err != nil {
		return err
	}
	if err := permitAdd(adm, SurfaceSubject(name), old.Surface, s.Surface); err != nil {
		return err
	}
	if l.servers == nil {
		l.servers = map[string]ServerLock{}
	}
	l.servers[name] = s
	return nil
}

// permitAdd is nil if d is what an entry had before, or was admitted under its subject.
func permitAdd(adm policy.Admitted, subject string, before, d digest.Digest) error {
	if evidence.Same(before, d) {
		return nil
	}
	return adm.Permits(subject, d, policy.Add)
}

// permitAdd is nil if the record of a server and its proof are as in the entry before, or were admitted. Without a
// record there is nothing to permit.
func (r *RecordLock) permitAdd(adm policy.Admitted, server string, old *RecordLock) error {
	if r == nil {
		return nil
	}
	var document, proof digest.Digest
	if old != nil && old.Subject() == r.Subject() {
		document = old.Document
	}
	if r.samePlace(old) {
		proof = old.ProofDigest()
	}
	if err := permitAdd(adm, r.Subject(), document, r.Document); err != nil {
		return err
	}
	switch {
	case r.Proof != "":
		return permitAdd(adm, r.ProofSubject(), proof, r.ProofDigest())
	case !proof.IsZero():
		return fmt.Errorf("%s: %s was proven to be in its registry's log, and no longer is",
			server, surface.Escape(r.Subject()))
	}
	return nil
}

// permitAdd is nil if the closure of a server and its trees are as in the entry before, or were admitted.
func (c *ClosureLock) permitAdd(adm policy.Admitted, server string, old *ClosureLock) error {
	if c == nil {
		return nil
	}
	var before ClosureLock
	if old != nil {
		before = *old
	}
	if err := permitAdd(adm, ClosureSubject(server), before.Lock, c.Lock); err != nil {
		return err
	}
	if !evidence.Same(before.Lock, c.Lock) || !slices.Equal(before.Scripts, c.Scripts) {
		before.Trees = nil // trees follow from the package lock, and from what scripts make
	}
	for platform, d := range c.Trees {
		if err := permitAdd(adm, TreeSubject(server, platform), before.Trees[platform], d); err != nil {
			return err
		}
	}
	return nil
}

// AddFacet sets the entry of a facet. Its integrity, its list of assets and its proof
// must each have been admitted for [policy.Add] under their subjects, unless the entry
// had them for the same version from the same source.
func (l *Lock) AddFacet(adm policy.Admitted, name string, f FacetLock) error {
	if f.Source.Kind.HasRecords() {
		f.Log = cmp.Or(originOf(f.Proof), l.Log(f.Source.Registry))
	}
	if err := f.check(name); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	old := l.facets[name]
	if old.Version != f.Version || old.Source != f.Source {
		old = FacetLock{}
	}
	subject := f.Subject(name)
	var assets digest.Digest
	if !old.Integrity.IsZero() {
		assets = AssetsDigest(old.Assets)
	}
	for _, part := range []struct {
		subject    string
		before, is digest.Digest
	}{
		{subject, old.Integrity, f.Integrity},
		{AssetsSubject(subject), assets, AssetsDigest(f.Assets)},
		{FacetProofSubject(subject), old.ProofDigest(), f.ProofDigest()},
	} {
		if part.is.IsZero() && part.before.IsZero() || !part.is.IsZero() && evidence.Same(part.before, part.is) {
			continue
		}
		if part.is.IsZero() {
			return fmt.Errorf("%s: was proven to be in its registry's log, and no longer is", surface.Escape(subject))
		}
		if err := adm.Permits(part.subject, part.is, policy.Add); err != nil {
			return err
		}
	}
	if l.facets == nil {
		l.facets = map[string]FacetLock{}
	}
	l.facets[name] = f
	return nil
}
