package facets

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/facet"
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

// part is one deliverable that is to be installed, and the facet it is of.
type part struct {
	facet.Deliverable
	piece *piece
}

// Compose puts the deliverables of all facets side by side. Two of one name are a
// collision; all of them are reported together, and nobody wins.
func (a *Assembly) Compose() ([]part, error) {
	var (
		out   []part
		names = map[string][]string{} // facets by what and name
	)
	claim := func(what, name string, x *piece) {
		key := what + " " + name
		if !slices.Contains(names[key], x.Subject()) {
			names[key] = append(names[key], x.Subject())
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a.Pieces)) {
		x := a.Pieces[name]
		for _, d := range x.Manifest.Deliverables() {
			if !x.selection.has(d) {
				continue
			}
			out = append(out, part{d, x})
			what := string(d.Kind)
			if d.Kind != facet.KindAgent {
				what = "skill or command" // clients call both by their name alone
			}
			claim(what, d.Name, x)
		}
		for _, server := range slices.Sorted(maps.Keys(x.Manifest.Servers)) {
			claim("server", server, x)
		}
		if err := x.missingPartsError(); err != nil {
			return nil, err
		}
	}
	var detail strings.Builder
	n := 0
	for _, key := range slices.Sorted(maps.Keys(names)) {
		if len(names[key]) > 1 {
			n++
			fmt.Fprintf(&detail, "  %s: %s\n", key, strings.Join(names[key], ", "))
		}
	}
	if n > 0 {
		return nil, &evidence.Error{
			Subject: project.ConfigFile, Kind: evidence.Refused, Detail: detail.String(),
			Err:  errors.New(evidence.Count(n, "name") + " would be installed by several facets"),
			Hint: "remove one of the facets, or ask their authors for other names",
		}
	}
	return out, nil
}

// missingPartsError is the error for parts that are wanted of a facet and that it lacks.
func (x *piece) missingPartsError() error {
	if x.selection == nil || x.selection.all {
		return nil
	}
	var missing []string
	for kind, names := range x.selection.names {
		for name := range names {
			if !slices.ContainsFunc(x.Manifest.Deliverables(),
				func(d facet.Deliverable) bool { return d.Kind == kind && d.Name == name }) {
				missing = append(missing, string(kind)+" "+name)
			}
		}
	}
	if len(missing) == 0 {
		return nil
	}
	slices.Sort(missing)
	return evidence.Errorf(evidence.Validation, x.Subject(), "",
		fmt.Errorf("has no %s, which %s wants of it", strings.Join(missing, ", "), strings.Join(x.by, " and ")))
}
