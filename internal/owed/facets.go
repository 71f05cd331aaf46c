package owed

import (
	"fmt"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

// Facet returns what is owed about one facet: its entry, and what the entry owes.
func (d Demands) Facet(name string) List {
	l := d.facetEntry(name)
	entry, locked := d.Lock.Facet(name)
	if !locked {
		return l
	}
	if !d.declares(name) {
		l = append(l, Expectation{
			Claim: evidence.Claim{
				Subject: name, Scheme: evidence.Source, Authority: evidence.Project, Where: configFile,
			},
			By:  evidence.Lock,
			Why: "is locked, but no longer declared",
			Fix: fmt.Sprintf("restore it in %s; or run 'hallmark install', if it was taken out on purpose", configFile),
		})
	}
	return append(l, d.FacetProof(name, entry)...)
}

// facetEntry returns the expectations of a lock entry for a facet.
func (d Demands) facetEntry(name string) List {
	var l List
	claim := evidence.Claim{Subject: name, Scheme: evidence.Source, Authority: evidence.Lock, Where: lockFile}
	install := fmt.Sprintf("run 'hallmark install' without --frozen, and commit %s; "+
		"or restore it from version control", lockFile)
	if _, mine := d.Config.Facets[name]; mine {
		l = append(l, Expectation{
			Claim: claim, By: evidence.Project, Fix: install,
			Why: configFile + " declares the facet, and no entry holds what it may be",
		})
	}
	for _, other := range d.brought[name] {
		l = append(l, Expectation{
			Claim: claim, By: evidence.Lock, Fix: install,
			Why: "the entry of " + surface.Escape(other) + " brings it along",
		})
	}
	if accepted, ok := d.Memory.Facets[name]; ok && d.declares(name) {
		l = append(l, Expectation{
			Claim: claim, By: evidence.Machine, Why: whenInstalled(accepted),
			Fix: fmt.Sprintf("restore %s from version control; "+
				"or give it up with 'hallmark forget %s', and run 'hallmark install'", lockFile, name),
		})
	}
	return l
}

// whenInstalled returns which version of a facet this machine installed, and when.
func whenInstalled(f project.AcceptedFacet) string {
	return fmt.Sprintf("version %s was installed on this machine at %s", surface.Escape(f.Version), formatTime(f.At))
}

// FacetProof returns what is owed about the proof of an entry, locked or about to be, and about the
// proof's log. If this machine accepted a facet with a proof, every later entry of it needs one,
// whatever its source: no log covers a directory or a repository.
func (d Demands) FacetProof(name string, entry project.FacetLock) List {
	subject, accepted := project.FacetProofSubject(entry.Subject(name)), d.Memory.Facets[name]
	switch {
	case entry.Source.Kind.HasRecords() && entry.Proof == "":
		return d.proof(name, entry.Source.Registry, subject, "hallmark upgrade "+name, accepted.LogKey)
	case entry.Source.Kind.HasRecords():
		return d.log(name, entry.Source.Registry, accepted.AcceptedLog)
	case accepted.LogKey == "":
		return nil
	}
	subject = project.FacetProofSubject(project.FacetSubject(name, accepted.Version))
	return List{{
		Claim: evidence.Claim{
			Subject: subject, Scheme: evidence.Proof, Authority: evidence.Log, Where: lockFile + ", proof",
		},
		By: evidence.Machine,
		Why: fmt.Sprintf("it was accepted here with a proof of the log with the key %s, and is now of the %s, "+
			"of which no log says anything", accepted.LogKey, surface.Escape(entry.Source.String())),
		Fix: fmt.Sprintf("restore %s and %s from version control; or give up the proof with 'hallmark forget %s'",
			configFile, lockFile, name),
	}}
}
