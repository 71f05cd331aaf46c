package project

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/digest"
)

// FacetLock is the entry of one facet. It never holds a content_hash, the digest of an
// archive as a registry serves it: what was accepted are the contents.
type FacetLock struct {
	Version   string                   `json:"version"`
	Source    SourceLock               `json:"source"`
	Integrity digest.Digest            `json:"integrity"`          // content_integrity
	Assets    map[string]digest.Digest `json:"assets"`             // of each member of the archive
	Composes  map[string]string        `json:"composes,omitempty"` // exact versions of the facets that it brings along
	// origin of the registry's log; absent if it has none
	Log   string `json:"log,omitempty"`
	Proof string `json:"proof,omitempty"` // of the registry's log; likewise
	// of hallmark.toml, as Parts: what of the facet was installed, and how it is called
	Prefix string   `json:"prefix,omitempty"`
	Parts  []string `json:"parts,omitempty"`
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
	Path     string     `json:"path,omitempty"`    // of a local directory
	Wrapped  int        `json:"wrapped,omitempty"` // rule of package wrap by which it became a facet; 0 if it is one
}

// Subject names the facet in evidence: "NAME@VERSION".
func (l FacetLock) Subject(name string) string { return FacetSubject(name, l.Version) }

// FacetSubject names a version of a facet in evidence. The version may not be known yet.
func FacetSubject(name, version string) string { return strings.TrimSuffix(name+"@"+version, "@") }

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
	return digestOfProof(l.Proof)
}
