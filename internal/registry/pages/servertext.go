package pages

import (
	"context"
	"slices"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/serverjson"
)

// serverText is what pages show of a server.json.
type serverText struct {
	Title       string
	Description string
	WebsiteURL  string
	Repository  struct{ URL, Subfolder string }
	Packages    []packageText
	Remotes     []transportText
	FileHashes  map[string]string `json:"file_hashes"`
	Meta        struct {
		Publisher struct {
			FileHashes map[string]string `json:"file_hashes"`
		} `json:"io.modelcontextprotocol.registry/publisher-provided"`
	} `json:"_meta"`
}

// listUnchecked returns the claims of file_hashes that no evidence is about: those of a record
// that was imported, or published while nothing was recomputed.
func (d serverText) listUnchecked(checked []claimText) (out []claimText) {
	for _, hashes := range []map[string]string{d.FileHashes, d.Meta.Publisher.FileHashes} {
		for _, key := range registry.SortedKeys(hashes) {
			if !slices.ContainsFunc(checked, func(c claimText) bool {
				return c.Subject == key && c.Scheme == string(evidence.File)
			}) {
				out = append(out,
					claimText{Subject: key, Scheme: string(evidence.File), Authority: string(evidence.Publisher),
						Where:    "server.json, file_hashes",
						Expected: hashes[key], Outcome: string(evidence.Unverifiable),
						Reason: "this registry did not recompute it"})
			}
		}
	}
	return out
}

// packageText is one way to get a server's code.
type packageText struct {
	RegistryType, RegistryBaseURL string
	Identifier, Version           string
	FileSHA256                    string
	RuntimeHint                   string
	Transport                     transportText
	EnvironmentVariables          []variableText
}

// locatedPackages are the packages of a document that has the older package_location in their place.
func locatedPackages(raw []byte) (all []packageText) {
	doc, err := serverjson.Parse(raw)
	if err != nil {
		return nil
	}
	for _, p := range doc.Packages {
		all = append(all, packageText{RegistryType: p.RegistryType, Identifier: p.Identifier, Version: p.Version})
	}
	return all
}

// transportText is how a server is reached.
type transportText struct {
	Type, URL string
	Headers   []variableText
}

// variableText is a variable or header that a user has to set.
type variableText struct {
	Name, Description    string
	IsRequired, IsSecret bool
}

// timeText is a time for programs and people; "" if it is zero.
func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// serverVersion is what the page of a version of a server shows.
func (p *pages) serverVersion(ctx context.Context, name, version string) (*recordData, error) {
	rec, err := p.Records.Get(ctx, name, version)
	if err != nil {
		return nil, err
	}
	if rec.Status == registry.Deleted {
		return nil, deletedPage("server", rec.Name, rec.Version, rec.StatusMessage)
	}
	var doc serverText
	loosely(rec.Document, &doc)
	if len(doc.Packages) == 0 {
		doc.Packages = locatedPackages(rec.Document)
	}
	data := &recordData{
		listRow: listedServers([]registry.Record{rec})[0], Now: statusText{rec.StatusMessage, rec.StatusChangedAt},
		Claims: claimsOf(rec.Evidence), Findings: findingsText(rec.Findings),
		Packages: doc.Packages[:min(len(doc.Packages), maxRows)], Remotes: doc.Remotes[:min(len(doc.Remotes), maxRows)],
		NoSurface: "A document says nothing of a server's tools, and the registry runs no code of others. " +
			"What the server shows is captured, and locked, when it is pinned.",
	}
	if doc.WebsiteURL != "" {
		data.Links = append(data.Links, labelledText{"Website", doc.WebsiteURL})
	}
	if doc.Repository.URL != "" {
		data.Links = append(data.Links, labelledText{"Repository", doc.Repository.URL})
	}
	for _, f := range []fact{
		{"Verified", timeText(rec.VerifiedAt), false},
		{"Checked by", buildText(rec.Build), false},
		{"Imported from", rec.Origin, false},
		{"Imported", timeText(rec.ImportedAt), false},
		{"Digest of the document", rec.Digest.String(), true},
	} {
		if f.Text != "" {
			data.Facts = append(data.Facts, f)
		}
	}
	data.Install = installTexts(ledger.Server, rec.Name, rec.Version)
	data.Claims = append(data.Claims, doc.listUnchecked(data.Claims)...)
	recomputed, err := registry.DigestOf(rec.Document)
	if err != nil {
		return nil, err
	}
	if err := p.addLogged(ctx, data, recomputed, digest.Digest{}, digest.Digest{}); err != nil {
		return nil, err
	}
	data.cut()
	return data, nil
}
