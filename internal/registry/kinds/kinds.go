// Package kinds holds the kinds of what a registry publishes, each a value in one table, and
// reads their archives: the .facet of a facet and of a server that is packed from source, and
// the zip of a plugin. What an archive claims of itself is recomputed from its bytes.
package kinds

import (
	"context"
	"io"
	"slices"

	"github.com/hallmark-mcp/hallmark/archive"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/facet"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/ledger"
)

// table has a row for each kind, in the order in which people see them.
var table = []Kind{
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

// Of returns the row of a kind, without Read. For a kind that has no row it returns one whose title is
// the plural.
func Of(kind ledger.Kind) Kind {
	if i := slices.IndexFunc(table, func(k Kind) bool { return k.Kind == kind }); i >= 0 {
		return table[i]
	}
	return Kind{Kind: kind, Title: registry.Plural(kind), Fingerprint: evidence.FacetTar, FileName: facet.FileName,
		Install: func(string, string, string) []string { return nil }}
}

// All are the kinds of archives, which read them within limits.
func All(limits archive.Limits) []Kind {
	return selectKinds(limits, func(k Kind) bool { return k.read != nil })
}

// Plugin is the kind of the zips of plugins.
func Plugin(limits archive.Limits) Kind {
	return selectKinds(limits, func(k Kind) bool { return k.Kind == ledger.Plugin })[0]
}

// selectKinds returns the wanted kinds, which read archives within limits.
func selectKinds(limits archive.Limits, wanted func(Kind) bool) (out []Kind) {
	for _, k := range table {
		if wanted(k) {
			k.Read = func(ctx context.Context, r *io.SectionReader) (*Content, error) { return k.read(ctx, r, limits) }
			out = append(out, k)
		}
	}
	return out
}

// Archives are the names of the kinds of archives, in alphabetical order.
func Archives() (names []ledger.Kind) {
	for _, k := range table {
		if k.read != nil {
			names = append(names, k.Kind)
		}
	}
	slices.Sort(names)
	return names
}
