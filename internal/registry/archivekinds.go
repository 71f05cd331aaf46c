package registry

import (
	"context"
	"io"
	"slices"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/archive"
	"github.com/hallmark-mcp/hallmark/internal/facet"
	"github.com/hallmark-mcp/hallmark/ledger"
)

// archiveKinds has a row for each kind, in the order in which people see them.
var archiveKinds = []ArchiveKind{
	{
		Kind: ledger.Server, Title: "Servers",
		Install: func(name, version, local string) []string {
			return providerTexts(local, "server", name, version)
		},
	},
	{
		Kind: ledger.Facet, Title: "Facets", Fingerprint: evidence.FacetTar, FileName: facet.FileName, read: readFacet,
		Install: func(name, version, _ string) []string {
			return []string{"hallmark add " + name + "@" + version + "\n"}
		},
	},
	{
		// A server whose files the registry has.
		Kind: ledger.Artifact, Title: "Packed servers", Fingerprint: evidence.FacetTar, FileName: facet.FileName,
		read:  readServer,
		Shows: true,
		Install: func(name, version, local string) []string {
			return providerTexts(local, "source", name, version)
		},
	},
	{
		// The content_integrity is hallmark-tree-v1 of dist/; what lies beside it is covered by
		// the record's manifest and content_hash.
		Kind: ledger.Plugin, Title: "Plugins", Fingerprint: evidence.Tree, read: readPlugin,
		FileName: func(name, version string) string { return name + "-" + version + ".zip" },
		Install: func(name, version, _ string) []string {
			return []string{"hallmark plugin install " + name + "@" + version + "\n"}
		},
	},
}

// providerTexts returns the table that adds a server to a project's file, and the commands that pin
// and run it.
func providerTexts(local, member, name, version string) []string {
	return []string{
		"[providers.mcp." + local + "]\n" + member + " = \"" + name + "@" + version + "\"\n",
		"hallmark pin " + local + "\nhallmark run " + local + "\n",
	}
}

// ArchiveKindOf returns the row of a kind, without Read. For a kind that has no row it returns one whose title is
// the plural.
func ArchiveKindOf(kind ledger.Kind) ArchiveKind {
	if i := slices.IndexFunc(archiveKinds, func(k ArchiveKind) bool { return k.Kind == kind }); i >= 0 {
		return archiveKinds[i]
	}
	return ArchiveKind{Kind: kind, Title: Plural(kind), Fingerprint: evidence.FacetTar, FileName: facet.FileName,
		Install: func(string, string, string) []string { return nil }}
}

// ArchiveKinds are the kinds of archives, which read them within limits.
func ArchiveKinds(limits archive.Limits) []ArchiveKind {
	return selectKinds(limits, func(k ArchiveKind) bool { return k.read != nil })
}

// PluginKind is the kind of the zips of plugins.
func PluginKind(limits archive.Limits) ArchiveKind {
	return selectKinds(limits, func(k ArchiveKind) bool { return k.Kind == ledger.Plugin })[0]
}

// selectKinds returns the wanted kinds, which read archives within limits.
func selectKinds(limits archive.Limits, wanted func(ArchiveKind) bool) (out []ArchiveKind) {
	for _, k := range archiveKinds {
		if wanted(k) {
			k.Read = func(ctx context.Context, r *io.SectionReader) (*ArchiveContent, error) {
				return k.read(ctx, r, limits)
			}
			out = append(out, k)
		}
	}
	return out
}

// ArchiveKindNames are the names of the kinds of archives, in alphabetical order.
func ArchiveKindNames() (names []ledger.Kind) {
	for _, k := range archiveKinds {
		if k.read != nil {
			names = append(names, k.Kind)
		}
	}
	slices.Sort(names)
	return names
}
