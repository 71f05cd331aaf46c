package facet

import (
	"bytes"
	"fmt"
	"io"
	"slices"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/archive"
	"github.com/hallmark-mcp/hallmark/tree"
)

// Archive is a .facet that was read to its end: what it says, and what was computed
// from its bytes. Nothing of it has been compared; see [Archive.Evidence].
type Archive struct {
	Manifest *Manifest // nil if it holds a server
	Source   *Source   // nil if it holds a facet
	Build    *Build    // the archive's own claims

	Integrity   digest.Digest            // fingerprint facet-tar of the members
	TarSize     int64                    // bytes of their canonical tar
	ContentHash digest.Digest            // of the whole .facet
	Size        int64                    // bytes of the whole .facet
	Files       []tree.File              // the members, in canonical order
	Digests     map[string]digest.Digest // of the members, by path
}

// Name is the name of the facet or server.
func (a *Archive) Name() string {
	if a.Source != nil {
		return a.Source.Name
	}
	return a.Manifest.Name
}

// Version is the version of the facet or server.
func (a *Archive) Version() string {
	if a.Source != nil {
		return a.Source.Version
	}
	return a.Manifest.Version
}

// Warnings are about the manifest.
func (a *Archive) Warnings() []string {
	if a.Source != nil {
		return a.Source.Warnings
	}
	return a.Manifest.Warnings
}

// Read reads a .facet in one pass and in memory that does not grow with its contents.
// If sink is not nil it gets each member as it comes; what it keeps must not be used
// unless Read succeeds and the evidence was judged. A malformed archive is an
// [*archive.Error] or an [*Invalid].
func Read(r io.Reader, limits archive.Limits, sink func(archive.Entry, io.Reader) error) (*Archive, error) {
	a := &Archive{Digests: map[string]digest.Digest{}}
	var build, manifest, source []byte
	sums, err := archive.Walk(r, archive.Facet, limits, func(e archive.Entry, body io.Reader) (err error) {
		if e.Outer {
			build, err = readMember(e, body, MaxBuild)
			return err
		}
		h := digest.NewHasher()
		body = io.TeeReader(body, h)
		if e.Path == ManifestFile || e.Path == SourceFile {
			into := &manifest
			if e.Path == SourceFile {
				into = &source
			}
			// A facet never holds a server.json, so that either is the archive's own.
			if *into, err = readMember(e, body, MaxManifest); err != nil {
				return err
			}
			body = bytes.NewReader(*into)
		}
		if sink != nil {
			if err := sink(e, body); err != nil {
				return err
			}
		}
		if _, err := io.Copy(io.Discard, body); err != nil {
			return err
		}
		a.Files = append(a.Files, tree.File{Path: e.Path, Size: e.Size})
		a.Digests[e.Path] = h.Digest(digest.SHA256)
		return nil
	})
	if err != nil {
		return nil, err
	}
	a.Integrity, a.TarSize, a.ContentHash, a.Size = sums.Tar, sums.TarSize, sums.Packed, sums.PackedSize
	if a.Build, err = ParseBuild(build); err != nil {
		return nil, err
	}
	if err := a.parseManifest(manifest, source); err != nil {
		return nil, err
	}
	return a, a.checkMembers()
}

// readMember reads a member of an archive into memory; more than limit bytes are an [*Invalid].
func readMember(e archive.Entry, r io.Reader, limit int64) ([]byte, error) {
	if e.Size > limit {
		return nil, &Invalid{e.Path, []Issue{{"", fmt.Sprintf("has %d bytes; the limit is %d", e.Size, limit)}}}
	}
	return io.ReadAll(r)
}

// parseManifest reads the manifest of a facet or, where there is none, of a server.
func (a *Archive) parseManifest(manifest, source []byte) (err error) {
	switch {
	case manifest != nil:
		a.Manifest, err = ParseManifest(manifest)
	case source != nil:
		a.Source, err = ParseSource(source)
	default:
		err = &Invalid{"archive", []Issue{{"", "holds neither " + ManifestFile + " nor " + SourceFile}}}
	}
	return err
}

// checkMembers checks that the members, the plan of the manifest and the paths of the build
// manifest are one set.
func (a *Archive) checkMembers() error {
	var p problems
	if a.Manifest != nil {
		plan := map[string]bool{}
		for _, path := range a.Manifest.Paths() {
			plan[path] = true
			if _, ok := a.Digests[path]; !ok {
				p.add(path, "follows from %s, but is not there", ManifestFile)
			}
		}
		for _, f := range a.Files {
			if !plan[f.Path] {
				p.add(f.Path, "does not follow from %s", ManifestFile)
			}
		}
	} else if _, ok := a.Digests[a.Source.Entry]; !ok {
		p.add(a.Source.Entry, "is the entry of %s, but is not there", SourceFile)
	}
	for _, f := range a.Files {
		if _, ok := a.Build.Files[f.Path]; !ok {
			p.add(f.Path, "has no digest in %s", archive.BuildManifest)
		}
	}
	for _, path := range sortedKeys(a.Build.Files) {
		if _, ok := a.Digests[path]; !ok {
			p.add(path, "has a digest in %s, but is not there", archive.BuildManifest)
		}
	}
	return p.asError("archive")
}

// Evidence compares what was computed with claims of others, in their order (a lock
// before a registry), and then with those of the archive itself. Claims are of subject
// or of its members ([MemberSubject]): under the scheme facet-tar of the fingerprint,
// under file of the bytes of the archive or member. from says what was read, for
// messages.
func (a *Archive) Evidence(subject, from string, claims ...evidence.Claim) evidence.Report {
	observed := map[string]evidence.Observed{}
	for _, f := range a.Files {
		observed[MemberSubject(subject, f.Path)] = evidence.Observed{
			Digests: []digest.Digest{a.Digests[f.Path]}, Size: f.Size, From: f.Path + " in " + from,
		}
	}
	var report evidence.Report
	for _, c := range slices.Concat(claims, a.Build.Claims(subject)) {
		o, ok := observed[c.Subject]
		if c.Subject == subject {
			o, ok = evidence.Observed{Digests: []digest.Digest{a.ContentHash}, Size: a.Size, From: from}, true
			if c.Scheme == evidence.FacetTar {
				o = evidence.Observed{
					Digests: []digest.Digest{a.Integrity}, Size: a.TarSize, From: "the contents of " + from,
				}
			}
		}
		switch {
		case !ok:
			report = append(report, evidence.CannotVerify(c, evidence.NotFound, "there is no such member"))
		case c.Scheme != evidence.File && (c.Scheme != evidence.FacetTar || c.Subject != subject):
			report = append(report, evidence.CannotVerify(c, evidence.Unsupported,
				"reading an archive does not compute this"))
		default:
			report = append(report, evidence.Compare(c, o))
		}
	}
	return report
}
