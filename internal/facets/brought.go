package facets

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/facet"
	"github.com/hallmark-mcp/hallmark/internal/obtain"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/project"
)

// ComposedEvidence compares what an entry says that its facet brings along with its manifest.
func ComposedEvidence(m *facet.Manifest, subject string, entry project.FacetLock) evidence.Evidence {
	text := func(versions map[string]string) string {
		var names []string
		for _, name := range slices.Sorted(maps.Keys(versions)) {
			names = append(names, name+"@"+versions[name])
		}
		return cmp.Or(strings.Join(names, " "), "nothing")
	}
	declared := map[string]string{}
	for _, c := range m.Facets {
		declared[c.Name] = c.Version
	}
	e := evidence.Fact(evidence.Claim{
		Subject: subject, Scheme: evidence.Source, Authority: evidence.Manifest, Text: "brings along " + text(declared),
		Where: facet.ManifestFile,
	}, "brings along "+text(entry.Composes))
	e.Observed.From = project.LockFile + ", composes"
	return e
}

// BroughtEvidence compares the entry of a facet with what the locked facets that bring it along
// say of it: a facet names another as NAME@VERSION of the registry, and nothing but a line of
// hallmark.toml makes a directory or a repository of it.
func BroughtEvidence(w *workspace.Workspace, others []string, name string, entry project.FacetLock,
	locked bool) (report evidence.Report) {
	_, declared := w.Config.Facets[name]
	for _, other := range others {
		by, _ := w.Lock.Facet(other)
		version := by.Composes[name]
		var e evidence.Evidence
		if declared && locked { // which says where it is from
			c := obtain.SourceClaim(name)
			c.Text = "version " + entry.Version
			e = evidence.Fact(c, "version "+version)
		} else {
			r, _ := artifact.ParseRequirement(version)
			e = obtain.SourceEvidence(w.Config.Registry, project.Facet{Name: name, Requirement: r,
				Prefix: entry.Prefix, Parts: entry.Parts}, entry, locked)
		}
		e.Observed.From = "the entry of " + other
		report = append(report, e)
	}
	return report
}
