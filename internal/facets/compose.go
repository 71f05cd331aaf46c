package facets

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/facet"
	"github.com/hallmark-mcp/hallmark/internal/installed"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

// Compose chooses the deliverables of all facets that are to be installed. Two of one name are
// refused, whichever facet came first; all such names are reported together.
func (a *Assembly) Compose() ([]installed.Part, error) {
	var (
		out   []installed.Part
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
		for _, d := range installed.Placed(x.Manifest, x.want) {
			if !x.selection.Has(d) {
				continue
			}
			if len(d.Name) > maxPlacedName {
				return nil, evidence.Errorf(evidence.Refused, x.Subject(),
					"write a shorter prefix in "+project.ConfigFile,
					fmt.Errorf("%s %s would be called %s, which has more than %d letters", d.Kind, d.MemberName(),
						d.Name, maxPlacedName))
			}
			out = append(out, installed.Part{Deliverable: d, Of: x.Archive})
			what := string(d.Kind)
			if d.Kind != facet.KindAgent {
				what = "skill or command" // clients call both by their name alone
			}
			claim(what, d.Name, x)
		}
		for _, server := range x.servers() {
			if x.Manifest.Servers[server].URL == "" { // one with a URL is declared by hallmark.toml, or not at all
				claim("server", facet.EntryName(server), x)
			}
		}
		if err := x.missingPartsError(); err != nil {
			return nil, err
		}
	}
	if err := sharedNamesError(names); err != nil {
		return nil, err
	}
	return out, nil
}

// sharedNamesError is the error for names that several facets would install. names are facets by what they install and
// its name.
func sharedNamesError(names map[string][]string) error {
	var detail strings.Builder
	n := 0
	for _, key := range slices.Sorted(maps.Keys(names)) {
		if len(names[key]) > 1 {
			n++
			fmt.Fprintf(&detail, "  %s: %s\n", key, strings.Join(names[key], ", "))
		}
	}
	if n > 0 {
		return &evidence.Error{
			Subject: project.ConfigFile, Kind: evidence.Refused, Detail: detail.String(),
			Err: errors.New(evidence.Count(n, "name") + " would be installed by several facets"),
			Hint: "'--prefix' with 'hallmark add' puts the facet's name before those of its parts, and '--part' " +
				"takes only some; or remove one of the facets",
		}
	}
	return nil
}

// missingPartsError is the error for parts that are wanted of a facet and that it lacks.
func (x *piece) missingPartsError() error {
	missing := x.selection.Lacking(x.Manifest.Deliverables())
	for _, part := range x.want.Parts {
		name, ok := strings.CutPrefix(part, "server ")
		if _, has := x.Manifest.Servers[name]; ok && !has {
			missing = append(missing, part)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	if len(x.by) == 0 {
		return evidence.Errorf(evidence.Validation, x.Subject(), "take it out of 'parts' in "+project.ConfigFile+
			"; it has "+surface.Escape(strings.Join(partsOf(x.Manifest), ", ")),
			fmt.Errorf("has no %s, which %s wants of it",
				surface.Escape(strings.Join(missing, ", ")), project.ConfigFile))
	}
	return evidence.Errorf(evidence.Validation, x.Subject(), "",
		fmt.Errorf("has no %s, which %s wants of it", strings.Join(missing, ", "), strings.Join(x.by, " and ")))
}

// servers are the servers of a facet that are wanted, as it names them, sorted.
func (x *piece) servers() (names []string) {
	for _, name := range slices.Sorted(maps.Keys(x.Manifest.Servers)) {
		if x.want.WantsServer(name) {
			names = append(names, name)
		}
	}
	return names
}

// maxPlacedName is the longest name of a skill that clients take.
const maxPlacedName = 64
