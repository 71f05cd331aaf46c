package pages

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/ledger"
)

// manifestText is what pages show of the manifest of an archive of any kind.
type manifestText struct {
	Description string
	Author      string

	// Of a facet.
	Skills, Agents, Commands map[string]struct{ Description string }
	Servers                  map[string]json.RawMessage
	Facets                   []json.RawMessage

	// Of a server that is packed from source.
	Runtime string

	// Of a packed server and of a plugin: the file that is started.
	Entry string

	// Of a plugin.
	Capabilities         struct{ Tools, Resources, Prompts []json.RawMessage } // names, or objects with one
	Dependencies         []string
	ExternalDependencies []json.RawMessage
	Permissions          json.RawMessage
	Signatures           []struct{ Alg, KeyID string }
}

// archiveVersion is what the page of a version of an archive shows.
func (p *pages) archiveVersion(ctx context.Context, kind ledger.Kind, name, version string) (*recordData, error) {
	rec, err := p.ArchiveRecords.Archive(ctx, kind, name, version)
	if err != nil {
		return nil, err
	}
	if rec.Status == registry.Deleted {
		return nil, deletedPage(string(kind), rec.Name, rec.Version, rec.StatusMessage)
	}
	var m manifestText
	loosely(rec.Manifest, &m)
	data := &recordData{
		listRow:  listedArchives([]registry.ArchiveRecord{rec})[0],
		Now:      statusText{rec.StatusMessage, rec.StatusChangedAt},
		Findings: findingsText(rec.Findings), Contents: m.contents(),
		Download: apiPath(kind, rec.Name, rec.Version, "archive"),
	}
	for _, f := range []fact{
		{"Author, as the manifest says", m.Author, false},
		{"Runtime", m.Runtime, false},
		{"Entry", m.Entry, false},
		{"content_integrity (" + string(registry.ArchiveKindOf(kind).Fingerprint) + ")", rec.ContentIntegrity.String(),
			true},
		{"content_hash", rec.ContentHash.String(), true},
		{"Size", evidence.Group(rec.Size) + " bytes", false},
		{"Recomputed by", buildText(rec.Build), false},
	} {
		if f.Text != "" {
			data.Facts = append(data.Facts, f)
		}
	}
	for _, path := range registry.SortedKeys(rec.Assets) {
		data.Files = append(data.Files, fileText{path, rec.Assets[path].String()})
	}
	data.Install = installTexts(kind, rec.Name, rec.Version)
	if err := p.archiveSurface(ctx, data, rec); err != nil {
		return nil, err
	}
	rec.DocumentDigest = digest.Digest{} // what the database has beside the manifest
	document, err := rec.Document()
	if err != nil {
		return nil, err
	}
	if err := p.addLogged(ctx, data, document, rec.ContentIntegrity, rec.APISurface); err != nil {
		return nil, err
	}
	data.cut()
	return data, nil
}

// archiveSurface fills in what a packed server shows, as far as its publisher says so.
func (p *pages) archiveSurface(ctx context.Context, data *recordData, rec registry.ArchiveRecord) error {
	if !registry.ArchiveKindOf(data.Kind).Shows {
		data.NoSurface = "What is captured is the surface of a server, not of a " + string(data.Kind) + "."
		return nil
	}
	shown, reason, err := p.packedSurface(ctx, rec)
	if err != nil {
		return err
	}
	claim := evidence.Claim{Subject: rec.Subject(), Scheme: evidence.APISurface, Authority: evidence.Publisher,
		Where: "api_surface"}
	if !rec.APISurface.IsZero() {
		claim.Want = []digest.Digest{rec.APISurface}
	}
	if shown == nil {
		data.NoSurface = reason
		if !rec.APISurface.IsZero() {
			data.Claims = append(data.Claims,
				claimOf(evidence.CannotVerify(claim, evidence.Computed,
					"the registry runs no code of others; it is the publisher's word")))
		}
		return nil
	}
	data.Surface = surfaceTextOf(shown)
	data.Claims = append(data.Claims, claimOf(evidence.Compare(claim,
		evidence.Observed{Digests: []digest.Digest{shown.APISurface()}, From: SurfaceFile + " in the archive"})))
	return nil
}

// contents are the parts of a manifest that tell a person what is inside.
func (m manifestText) contents() []contents {
	servers := contents{Title: "Servers"}
	for _, name := range registry.SortedKeys(m.Servers) {
		servers.Items = append(servers.Items, labelledText{name, jsonText(m.Servers[name])})
	}
	var permissions []json.RawMessage
	if len(m.Permissions) > 0 {
		permissions = append(permissions, m.Permissions)
	}
	signatures := contents{Title: "Signatures over dist.hash"}
	for _, s := range m.Signatures {
		signatures.Items = append(signatures.Items, labelledText{s.KeyID, s.Alg})
	}
	return slices.DeleteFunc([]contents{
		listDescribed("Skills", m.Skills),
		listDescribed("Agents", m.Agents),
		listDescribed("Commands", m.Commands),
		servers,
		listTexts("Facets that it brings along", m.Facets),
		listCapabilities("Tools", m.Capabilities.Tools),
		listCapabilities("Resources", m.Capabilities.Resources),
		listCapabilities("Prompts", m.Capabilities.Prompts),
		listNames("Plugins that it needs", m.Dependencies),
		listTexts("Packages that it needs", m.ExternalDependencies),
		listTexts("Permissions", permissions),
		signatures,
	}, func(c contents) bool { return len(c.Items) == 0 })
}

// listDescribed lists what has a name and a description.
func listDescribed(title string, all map[string]struct{ Description string }) contents {
	c := contents{Title: title}
	for _, name := range registry.SortedKeys(all) {
		c.Items = append(c.Items, labelledText{name, all[name].Description})
	}
	return c
}

// listNames lists what has a name only.
func listNames(title string, names []string) contents {
	c := contents{Title: title}
	for _, name := range names {
		c.Items = append(c.Items, labelledText{Label: name})
	}
	return c
}

// listTexts lists values of a manifest as they are.
func listTexts(title string, values []json.RawMessage) contents {
	var names []string
	for _, v := range values {
		names = append(names, jsonText(v))
	}
	return listNames(title, names)
}

// listCapabilities lists values of a manifest by their names; one without a name as it is.
func listCapabilities(title string, values []json.RawMessage) contents {
	var names []string
	for _, v := range values {
		var said struct{ Name string }
		if json.Unmarshal(v, &said) != nil || said.Name == "" {
			said.Name = jsonText(v)
		}
		names = append(names, said.Name)
	}
	return listNames(title, names)
}

// jsonText is a value of a manifest on one line: a string as it is.
func jsonText(v json.RawMessage) string {
	var s string
	if json.Unmarshal(v, &s) == nil {
		return s
	}
	return string(v)
}
