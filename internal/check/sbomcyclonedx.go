package check

import (
	"maps"
	"slices"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/internal/machine"
)

// cdxDocument is a document of CycloneDX 1.6, with the members that are written here.
type cdxDocument struct {
	Schema       string          `json:"$schema"`
	Format       string          `json:"bomFormat"`
	Spec         string          `json:"specVersion"`
	Serial       string          `json:"serialNumber,omitempty"`
	Version      int             `json:"version"`
	Metadata     cdxMetadata     `json:"metadata"`
	Components   []cdxComponent  `json:"components"`
	Services     []cdxService    `json:"services,omitempty"`
	Dependencies []cdxDependency `json:"dependencies"`
}

type cdxMetadata struct {
	Timestamp string `json:"timestamp,omitempty"`
	Tools     struct {
		Components []cdxComponent `json:"components"`
	} `json:"tools"`
	Component cdxComponent `json:"component"`
}

type cdxComponent struct {
	Type       string         `json:"type"`
	Ref        string         `json:"bom-ref,omitempty"`
	Name       string         `json:"name"`
	Version    string         `json:"version,omitempty"`
	Scope      string         `json:"scope,omitempty"`
	Hashes     []cdxHash      `json:"hashes,omitempty"`
	PURL       string         `json:"purl,omitempty"`
	Components []cdxComponent `json:"components,omitempty"`
	Properties []cdxProperty  `json:"properties,omitempty"`
}

type cdxService struct {
	Ref        string        `json:"bom-ref"`
	Name       string        `json:"name"`
	Version    string        `json:"version,omitempty"`
	Endpoints  []string      `json:"endpoints"`
	Properties []cdxProperty `json:"properties,omitempty"`
}

type cdxHash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type cdxProperty struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type cdxDependency struct {
	Ref   string   `json:"ref"`
	Needs []string `json:"dependsOn,omitempty"`
}

var cdxAlgorithms = map[digest.Algorithm]string{
	digest.SHA1: "SHA-1", digest.SHA256: "SHA-256", digest.SHA512: "SHA-512",
}

// cycloneDX writes components, of which the first is the project, as CycloneDX.
func cycloneDX(in SBOMInput, all []*sbomComponent) ([]byte, error) {
	doc := cdxDocument{Schema: "http://cyclonedx.org/schema/bom-1.6.schema.json", Format: "CycloneDX", Spec: "1.6",
		Version: 1, Components: []cdxComponent{}}
	if !in.Created.IsZero() {
		doc.Metadata.Timestamp = in.Created.UTC().Format(time.RFC3339)
	}
	doc.Metadata.Tools.Components = []cdxComponent{{Type: "application", Name: "hallmark", Version: in.Release}}
	parts := map[string][]cdxComponent{}
	for _, c := range all {
		if c.parent != "" {
			parts[c.parent] = append(parts[c.parent], toCDX(c, nil))
		}
	}
	for i, c := range all {
		switch {
		case i == 0:
			doc.Metadata.Component = toCDX(c, nil)
		case c.kind == "service":
			doc.Services = append(doc.Services,
				cdxService{c.id, c.name, c.version, []string{c.endpoint}, cdxProperties(c)})
		case c.parent == "":
			doc.Components = append(doc.Components, toCDX(c, parts[c.id]))
		}
		// What is not there is not known, in the words of the format; an empty list says that nothing is needed.
		if c.known || len(c.needs) > 0 {
			doc.Dependencies = append(doc.Dependencies, cdxDependency{c.id, slices.Sorted(maps.Keys(c.needs))})
		}
	}
	content, err := machine.MarshalIndented(doc)
	if err != nil {
		return nil, err
	}
	doc.Serial = "urn:uuid:" + contentUUID(content)
	return machine.MarshalIndented(doc)
}

func toCDX(c *sbomComponent, parts []cdxComponent) cdxComponent {
	out := cdxComponent{Type: c.kind, Ref: c.id, Name: c.name, Version: c.version, PURL: c.purl, Components: parts,
		Properties: cdxProperties(c)}
	if c.optional && !c.required {
		out.Scope = "optional"
	}
	for _, d := range c.hashes {
		out.Hashes = append(out.Hashes, cdxHash{cdxAlgorithms[d.Algorithm()], d.Hex()})
	}
	return out
}

func cdxProperties(c *sbomComponent) (all []cdxProperty) {
	for _, p := range c.properties() {
		all = append(all, cdxProperty{p[0], p[1]})
	}
	return all
}
