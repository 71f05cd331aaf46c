package facet

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/archive"
)

// MaxBuild bounds a build-manifest.json, in bytes: a digest for each member that the
// limits of archives allow.
const MaxBuild = 8 << 20

// buildVersion is the facetVersion that is read and written.
const buildVersion = "0.2"

// Build is a build-manifest.json: what an archive says of itself.
type Build struct {
	Integrity digest.Digest            // content_integrity
	Files     map[string]digest.Digest // by path
}

// Encode is the document: its members in the order of the specification, paths in
// byte order, one a line.
func (b *Build) Encode() ([]byte, error) {
	files, err := json.MarshalIndent(b.Files, "  ", "  ") // sorts, and escapes as it must
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "{\n  \"facetVersion\": %s,\n  \"archive\": %q,\n  \"integrity\": %q,\n  \"files\": %s\n}\n",
		buildVersion, archive.FacetTarGzip, b.Integrity, files)
	return out.Bytes(), nil
}

// ParseBuild reads a build-manifest.json strictly. Its error is an [*Invalid] with all
// problems.
func ParseBuild(data []byte) (*Build, error) {
	var p problems
	o, ok := p.readDocument(data, MaxBuild)
	if !ok {
		return nil, p.asError(archive.BuildManifest)
	}
	raw, at, ok := o.takeMember("facetVersion")
	version, err := strconv.ParseFloat(strings.TrimSpace(string(raw)), 64)
	switch {
	case !ok:
		p.add(at, "is missing")
	case err != nil:
		p.add(at, "must be a number")
	case version != 0.2:
		p.add(at, "version %s is not known; this build reads %s", clip(string(raw)), buildVersion)
		return nil, p.asError(archive.BuildManifest)
	}
	if name := o.takeText("archive", true); name != "" && name != archive.FacetTarGzip {
		p.add("/archive", "must be %q", archive.FacetTarGzip)
	}
	b := &Build{Files: map[string]digest.Digest{}}
	b.Integrity = p.readDigest(o.takeText("integrity", true), "/integrity")
	if _, ok := o.members["files"]; !ok {
		p.add("/files", "is missing")
	}
	o.takeObject("files", func(path string, raw json.RawMessage, at string) {
		p.checkMember(path, at)
		if s, ok := p.readString(raw, at); ok {
			b.Files[path] = p.readDigest(s, at)
		}
	})
	o.refuseUnknown()
	if err := p.asError(archive.BuildManifest); err != nil {
		return nil, err
	}
	return b, nil
}

// readDigest reads the one form in which digests are written here.
func (p *problems) readDigest(s, at string) digest.Digest {
	d, err := digest.Parse(s)
	if s != "" && (err != nil || d.Algorithm() != digest.SHA256 || d.String() != s) {
		p.add(at, "must be sha256: and 64 lower-case hex digits")
	}
	return d
}

// MemberSubject names a member of an archive in evidence.
func MemberSubject(subject, path string) string { return subject + "/" + path }

// Claims is what b claims of the archive that evidence calls subject, the fingerprint
// first, then the members by path.
func (b *Build) Claims(subject string) []evidence.Claim {
	claims := []evidence.Claim{{
		Subject: subject, Scheme: evidence.FacetTar, Want: []digest.Digest{b.Integrity},
		Authority: evidence.Manifest, Where: archive.BuildManifest + ", integrity",
	}}
	for _, path := range sortedKeys(b.Files) {
		claims = append(claims, evidence.Claim{
			Subject: MemberSubject(subject, path), Scheme: evidence.File, Want: []digest.Digest{b.Files[path]},
			Authority: evidence.Manifest, Where: archive.BuildManifest + ", files",
		})
	}
	return claims
}
