package check

import (
	"context"
	"fmt"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/facets"
	"github.com/hallmark-mcp/hallmark/internal/owed"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/project"
)

// explainFacet makes the links of a facet, from what declares it to the files that clients read.
func (c *chain) explainFacet(ctx context.Context, demands owed.Demands, way []facets.Part) error {
	each, _, _, err := checkFacets(ctx, c.w, c.logs, demands, false)
	if err != nil {
		return err
	}
	for _, e := range each {
		if e.Name == c.name {
			c.What, c.rest = e.What, e.Report
		}
	}
	c.found = c.rest
	c.addDeclared(way)
	entry, locked := c.w.Lock.Facet(c.name)
	if !locked {
		c.state("lock", State(evidence.Absent), c.command("why", c.name),
			"hallmark.lock holds nothing about it: nobody claimed which contents it has. Run 'hallmark install'.")
		return nil
	}
	if entry.Source.Kind.HasRecords() {
		r := project.RecordLock{Kind: ledger.Facet, Registry: entry.Source.Registry,
			Name: c.name, Version: entry.Version, Integrity: entry.Integrity, Log: entry.Log, Proof: entry.Proof}
		if err := c.addLog(r); err != nil {
			return err
		}
	} else {
		c.state("record", State(evidence.Absent), c.command("why", c.name), fmt.Sprintf(
			"No record of a registry says who published it: Hallmark got it from %s.", entry.Source))
	}
	c.addHashed("bytes", "the contents of", c.take(func(e evidence.Evidence) bool {
		return e.Scheme == evidence.FacetTar || e.Scheme == evidence.Document // of its list of files
	}))
	if placed := c.take(func(e evidence.Evidence) bool {
		return e.Scheme == evidence.Installed || e.Scheme == evidence.Unhashed
	}); len(placed) > 0 {
		c.add("files", c.checkAll(), fmt.Sprintf("Hallmark hashed %s that it installed for your clients, now: all are "+
			"as the contents have them.", evidence.Count(len(placed), "file")),
			fmt.Sprintf("Hallmark compared %s that it installed for your clients with the contents.",
				evidence.Count(len(placed), "file")), placed)
	}
	c.addAccepted(entry)
	return nil
}

// addAccepted adds what you installed of a facet on this machine.
func (c *chain) addAccepted(entry project.FacetLock) {
	check := searchIn(c.path(project.LockFile), entry.Integrity.String())
	accepted, ok := c.w.Approvals.Facets[c.name]
	switch {
	case !ok:
		c.state("approval", State(evidence.Absent), check,
			"You have not installed it on this machine: run 'hallmark install --frozen'.")
	case !evidence.Same(accepted.Integrity, entry.Integrity):
		c.state("approval", State(evidence.Absent), check, fmt.Sprintf(
			"You installed other contents of it on this machine at %s, version %s: run 'hallmark install'.",
			moment(accepted.At), accepted.Version))
	default:
		c.state("approval", Kept, check, fmt.Sprintf("You installed these contents on this machine at %s: %s.",
			moment(accepted.At), accepted.Integrity))
	}
}
