package check

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/internal/machine"
)

// spdxDocument is a document of SPDX 2.3, with the members that are written here. Files are packages in it: SPDX wants
// a SHA-1 of what it calls a file, and the lock has none.
type spdxDocument struct {
	Spec          string             `json:"spdxVersion"`
	License       string             `json:"dataLicense"`
	ID            string             `json:"SPDXID"`
	Name          string             `json:"name"`
	Namespace     string             `json:"documentNamespace"`
	Creation      spdxCreation       `json:"creationInfo"`
	Packages      []spdxPackage      `json:"packages"`
	Relationships []spdxRelationship `json:"relationships"`
}

type spdxCreation struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
	Comment  string   `json:"comment,omitempty"`
}

type spdxPackage struct {
	ID        string            `json:"SPDXID"`
	Name      string            `json:"name"`
	Version   string            `json:"versionInfo,omitempty"`
	File      string            `json:"packageFileName,omitempty"`
	Purpose   string            `json:"primaryPackagePurpose"`
	Location  string            `json:"downloadLocation"`
	Analyzed  bool              `json:"filesAnalyzed"`
	Checksums []spdxChecksum    `json:"checksums,omitempty"`
	External  []spdxExternalRef `json:"externalRefs,omitempty"`
	Comment   string            `json:"comment,omitempty"`
}

type spdxChecksum struct {
	Algorithm string `json:"algorithm"`
	Value     string `json:"checksumValue"`
}

type spdxExternalRef struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

type spdxRelationship struct {
	Element string `json:"spdxElementId"`
	Type    string `json:"relationshipType"`
	Related string `json:"relatedSpdxElement"`
}

const (
	noAssertion = "NOASSERTION"
	dependsOn   = "DEPENDS_ON"
)

// spdx writes components, of which the first is the project, as SPDX.
func spdx(in SBOMInput, all []*sbomComponent) ([]byte, error) {
	doc := spdxDocument{Spec: "SPDX-2.3", License: "CC0-1.0", ID: "SPDXRef-DOCUMENT", Name: in.Project,
		Creation: spdxCreation{Created: in.Created.UTC().Format(time.RFC3339),
			Creators: []string{"Tool: hallmark-" + in.Release}}}
	if in.Created.IsZero() { // the format demands a time
		doc.Creation.Created = time.Unix(0, 0).UTC().Format(time.RFC3339)
		doc.Creation.Comment = "The time is not known: it is left out, so that one lock has one document. " +
			"SOURCE_DATE_EPOCH sets it."
	}
	for i, c := range all {
		doc.Packages = append(doc.Packages, toSPDX(c))
		id := spdxID(c.id)
		if i == 0 {
			doc.Relationships = append(doc.Relationships, spdxRelationship{doc.ID, "DESCRIBES", id})
		}
		if c.parent != "" {
			doc.Relationships = append(doc.Relationships, spdxRelationship{spdxID(c.parent), "CONTAINS", id})
		}
		switch {
		case len(c.needs) == 0 && c.known:
			doc.Relationships = append(doc.Relationships, spdxRelationship{id, dependsOn, "NONE"})
		case len(c.needs) == 0 && c.parent == "":
			doc.Relationships = append(doc.Relationships, spdxRelationship{id, dependsOn, noAssertion})
		}
		for _, other := range slices.Sorted(maps.Keys(c.needs)) {
			doc.Relationships = append(doc.Relationships, spdxRelationship{id, dependsOn, spdxID(other)})
		}
	}
	content, err := machine.MarshalIndented(doc)
	if err != nil {
		return nil, err
	}
	doc.Namespace = "urn:uuid:" + contentUUID(content)
	return machine.MarshalIndented(doc)
}

var (
	spdxPurposes = map[string]string{"application": "APPLICATION", "library": "LIBRARY", "container": "CONTAINER",
		"file": "FILE", "service": "OTHER"}
	spdxAlgorithms = map[digest.Algorithm]string{digest.SHA1: "SHA1", digest.SHA256: "SHA256", digest.SHA512: "SHA512"}
)

func toSPDX(c *sbomComponent) spdxPackage {
	out := spdxPackage{ID: spdxID(c.id), Name: c.name, Version: c.version, File: c.file, Purpose: spdxPurposes[c.kind],
		Location: noAssertion}
	if c.kind == "file" {
		out.File = cmp.Or(c.file, c.name)
	}
	for _, d := range c.hashes {
		out.Checksums = append(out.Checksums, spdxChecksum{spdxAlgorithms[d.Algorithm()], d.Hex()})
	}
	if c.purl != "" {
		out.External = []spdxExternalRef{{"PACKAGE-MANAGER", "purl", c.purl}}
	}
	lines := []string{"hallmark:ref: " + c.id}
	for _, p := range c.properties() {
		lines = append(lines, p[0]+": "+p[1])
	}
	if c.optional && !c.required {
		lines = append(lines, "hallmark:scope: optional")
	}
	if c.endpoint != "" {
		lines = append(lines, "hallmark:endpoint: "+c.endpoint)
	}
	out.Comment = strings.Join(lines, "\n")
	return out
}

// spdxID is an identifier as SPDX allows it: letters, digits, dots and hyphens. The hash tells those apart that are
// alike without other characters.
func spdxID(id string) string {
	plain := strings.Map(func(r rune) rune {
		if 'a' <= r|0x20 && r|0x20 <= 'z' || '0' <= r && r <= '9' || r == '.' {
			return r
		}
		return '-'
	}, id)
	sum := sha256.Sum256([]byte(id))
	return "SPDXRef-" + plain[:min(len(plain), 80)] + "-" + hex.EncodeToString(sum[:6])
}
