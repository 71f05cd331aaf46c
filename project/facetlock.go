package project

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/hallmark-mcp/hallmark/archive"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/facet"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/surface"
)

// FacetLock is the entry of one facet. It never holds a content_hash, the digest of an
// archive as a registry serves it: what was accepted are the contents.
type FacetLock struct {
	Version   string                   `json:"version"`
	Source    SourceLock               `json:"source"`
	Integrity digest.Digest            `json:"integrity"`          // content_integrity
	Assets    map[string]digest.Digest `json:"assets"`             // of each member of the archive
	Composes  map[string]string        `json:"composes,omitempty"` // exact versions of the facets that it brings along
	Proof     string                   `json:"proof,omitempty"`    // of the registry's log; absent if it has none
}

// SourceLock is where a facet was got from, and how that was declared.
type SourceLock struct {
	Kind     SourceKind `json:"kind"`
	Registry string     `json:"registry,omitempty"` // [Registry.Name]
	URL      string     `json:"url,omitempty"`      // of a git repository
	Tag      string     `json:"tag,omitempty"`
	Branch   string     `json:"branch,omitempty"`
	Commit   string     `json:"commit,omitempty"` // that was resolved
	Sub      string     `json:"sub,omitempty"`
	Path     string     `json:"path,omitempty"` // of a local directory
}

// String is the source as evidence shows it.
func (s SourceLock) String() string {
	kind, _ := s.Kind.kind()
	return kind.title(s)
}

// Source is how f is declared, in the form of its lock entry; registry is the project's.
// The commit is that of the declaration, if it names one.
func (f Facet) Source(registry Registry) SourceLock {
	kind, _ := f.Kind().kind()
	s := kind.lock(f, registry)
	s.Kind = kind.name
	return s
}

// Covers reports whether the entry is of what f asks for.
func (l FacetLock) Covers(f Facet, registry Registry) bool {
	want, have := f.Source(registry), l.Source
	if f.Commit == "" {
		have.Commit = ""
	}
	kind, _ := f.Kind().kind()
	return want == have && (kind.covers == nil || kind.covers(f, l))
}

// Subject names the facet in evidence: "NAME@VERSION".
func (l FacetLock) Subject(name string) string { return FacetSubject(name, l.Version) }

// FacetSubject names a version of a facet in evidence.
func FacetSubject(name, version string) string { return name + "@" + version }

// AssetsSubject names the list of a facet's members and their digests.
func AssetsSubject(subject string) string { return "assets of " + subject }

// FacetProofSubject names the proof that a facet is in its registry's log.
func FacetProofSubject(subject string) string { return "log proof of " + subject }

// AssetsDigest is the digest of a list of members: of a line for each, in byte order of
// the paths.
func AssetsDigest(assets map[string]digest.Digest) digest.Digest {
	h := digest.NewHasher()
	for _, path := range slices.Sorted(maps.Keys(assets)) {
		fmt.Fprintf(h, "%s %q\n", assets[path], path)
	}
	return h.Digest(digest.SHA256)
}

// ProofDigest is the digest under which the proof is admitted; zero if there is none.
func (l FacetLock) ProofDigest() digest.Digest {
	if l.Proof == "" {
		return digest.Digest{}
	}
	return digest.FromBytes([]byte(l.Proof))
}

// Facet returns the entry of the facet called name.
func (l *Lock) Facet(name string) (FacetLock, bool) {
	f, ok := l.facets[name]
	return f, ok
}

// Facets are the names of all facets' entries, sorted.
func (l *Lock) Facets() []string { return slices.Sorted(maps.Keys(l.facets)) }

// AddFacet sets the entry of a facet. Its integrity, its list of assets and its proof
// must each have been admitted for [policy.Add] under their subjects, unless the entry
// had them for the same version from the same source.
func (l *Lock) AddFacet(adm policy.Admitted, name string, f FacetLock) error {
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

// RemoveFacet drops the entry of a facet, if there is one.
func (l *Lock) RemoveFacet(name string) { delete(l.facets, name) }

// check refuses an entry that Hallmark would not have written.
func (f FacetLock) check(name string) error {
	exact := func(version string) bool {
		r, err := facet.ParseRequirement(version)
		return err == nil && r.Exact()
	}
	s := f.Source
	switch {
	case !facet.CheckName(name):
		return errors.New("cannot be the name of a facet")
	case !exact(f.Version):
		return fmt.Errorf("version %+q is not M.N.P", f.Version)
	case f.Integrity.Algorithm() != digest.SHA256:
		return errors.New("has no integrity that is sha256")
	case f.Assets[facet.ManifestFile].IsZero():
		return errors.New("has no digest of its " + facet.ManifestFile)
	}
	for path, d := range f.Assets {
		if d.Algorithm() != digest.SHA256 {
			return errors.New("holds a digest that is not sha256")
		}
		if err := archive.CheckPath(path); err != nil {
			return err
		}
	}
	for other, version := range f.Composes {
		if !facet.CheckName(other) || !exact(version) {
			return fmt.Errorf("composes %+q, which is no facet at an exact version", other+"@"+version)
		}
	}
	kind, known := s.Kind.kind()
	if !known {
		return fmt.Errorf("unknown source %+q", string(s.Kind))
	}
	if err := kind.check(s); err != nil {
		return err
	}
	if f.Proof == "" {
		return nil
	}
	if s.Kind != FromRegistry {
		return errors.New("has a proof, and is not of a registry")
	}
	_, err := ledger.ParseProof([]byte(f.Proof))
	return err
}
