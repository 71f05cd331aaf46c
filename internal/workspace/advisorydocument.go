package workspace

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/surface"
)

// advisoryDocument is what of a document of OSV's schema decides.
type advisoryDocument struct {
	ID        string            `json:"id"`
	Summary   string            `json:"summary"`
	Details   string            `json:"details"`
	Withdrawn string            `json:"withdrawn"` // when; "" for not
	Affected  []affectedPackage `json:"affected"`
}

type affectedPackage struct {
	Package struct {
		Ecosystem string `json:"ecosystem"` // "npm", or "Debian:12"
		Name      string `json:"name"`
	} `json:"package"`
	Ranges   []affectedRange `json:"ranges"`
	Versions []string        `json:"versions"`
}

type affectedRange struct {
	Type   string       `json:"type"` // SEMVER, ECOSYSTEM or GIT
	Events []rangeEvent `json:"events"`
}

// rangeEvent has one member that is not "".
type rangeEvent struct {
	Introduced   string `json:"introduced"` // "0" is before all versions
	Fixed        string `json:"fixed"`
	LastAffected string `json:"last_affected"`
	Limit        string `json:"limit"` // "*" is after all versions
}

// parseAdvisory reads a document, whose file is called by its id.
func parseAdvisory(data []byte, id string) (*advisoryDocument, error) {
	d := new(advisoryDocument)
	if err := surface.DecodeKnown(data, d); err != nil {
		return nil, err
	}
	if d.ID == "" || d.ID != id {
		return nil, fmt.Errorf("its id is %+q, and not the name of the file", d.ID)
	}
	return d, nil
}

// find returns what the document says against wanted packages of a kind, which are given by their normal names.
func (d *advisoryDocument) find(kind artifact.Kind, wanted map[string][]artifact.Ref) (found []Advisory) {
	if d.Withdrawn != "" {
		return nil
	}
	fixed := map[artifact.Ref]string{} // of each that is affected
	for _, a := range d.Affected {
		of, _, _ := strings.Cut(a.Package.Ecosystem, ":")
		if of != osvEcosystems[kind] {
			continue
		}
		for _, ref := range wanted[normalName(kind, a.Package.Name)] {
			next, yes := a.affects(kind, ref.Version())
			if !yes {
				continue
			}
			if was, known := fixed[ref]; !known || was == "" || next != "" && artifact.IsOlder(kind, next, was) {
				fixed[ref] = next
			}
		}
	}
	summary := d.Summary
	if summary == "" {
		summary, _, _ = strings.Cut(strings.TrimSpace(d.Details), "\n")
	}
	for ref, next := range fixed {
		found = append(found, Advisory{Ref: ref, ID: d.ID, Summary: strings.TrimSpace(summary), Fixed: next})
	}
	return found
}

// affects reports whether a version is among those that are listed, or in a range of them, and from which version on it
// is no more. A range whose order is not known holds every version, unless there is a list, which decides then.
func (a affectedPackage) affects(kind artifact.Kind, version string) (fixed string, yes bool) {
	yes = slices.ContainsFunc(a.Versions, func(v string) bool {
		order, ok := artifact.CompareVersions(kind, v, version)
		return v == version || ok && order == 0
	})
	for _, r := range a.Ranges {
		if r.Type == "GIT" {
			continue
		}
		in, ordered := r.holds(kind, version)
		yes = yes || in && ordered || !ordered && len(a.Versions) == 0
	}
	if !yes {
		return "", false
	}
	for _, r := range a.Ranges {
		for _, e := range r.Events {
			if r.Type != "GIT" && e.Fixed != "" && artifact.IsOlder(kind, version, e.Fixed) &&
				(fixed == "" || artifact.IsOlder(kind, e.Fixed, fixed)) {
				fixed = e.Fixed
			}
		}
	}
	return fixed, true
}

// holds evaluates a range as the schema says: events are walked in the order of their versions. It is not ordered if a
// version has no place in the order of its kind, or if nothing says where the range begins.
func (r affectedRange) holds(kind artifact.Kind, version string) (in, ordered bool) {
	if r.Type != "SEMVER" && r.Type != "ECOSYSTEM" {
		return false, false
	}
	begins, limited, below := false, false, false
	for _, e := range r.Events {
		begins = begins || e.Introduced != ""
		at := e.at()
		order, ok := compareVersions(kind, version, at)
		if at == "" || !ok {
			return false, false
		}
		limited = limited || e.Limit != ""
		below = below || e.Limit != "" && order < 0
	}
	if !begins || limited && !below {
		return false, begins
	}
	events := slices.Clone(r.Events)
	slices.SortStableFunc(events, func(a, b rangeEvent) int {
		order, _ := compareVersions(kind, a.at(), b.at())
		// What is introduced with a version is so before that is the last one that is affected.
		return cmp.Or(order, cmp.Compare(len(a.LastAffected), 0)-cmp.Compare(len(b.LastAffected), 0))
	})
	for _, e := range events {
		order, _ := compareVersions(kind, version, e.at())
		switch {
		case e.Introduced != "" && order >= 0:
			in = true
		case e.Fixed != "" && order >= 0, e.LastAffected != "" && order > 0:
			in = false
		}
	}
	return in, true
}

// at is the version of an event.
func (e rangeEvent) at() string { return cmp.Or(e.Introduced, e.Fixed, e.LastAffected, e.Limit) }

// compareVersions compares versions of events, among which "0" is before and "*" after all others.
func compareVersions(kind artifact.Kind, a, b string) (order int, ok bool) {
	rank := func(v string) int {
		switch v {
		case "0":
			return -1
		case "*":
			return 1
		}
		return 0
	}
	if order := rank(a) - rank(b); order != 0 || rank(a) != 0 {
		_, okA := artifact.CompareVersions(kind, a, a)
		_, okB := artifact.CompareVersions(kind, b, b)
		return order, (okA || rank(a) != 0) && (okB || rank(b) != 0)
	}
	return artifact.CompareVersions(kind, a, b)
}
