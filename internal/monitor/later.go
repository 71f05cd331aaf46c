package monitor

import (
	"context"
	"fmt"
	"slices"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/ledger"
)

// laterEntries holds the status and finding entries that a monitor read, by the record that they
// are about. Clients ask the registry for the later entries of a record; only a monitor, which
// reads the whole log, can find that the registry leaves one out.
type laterEntries map[recordID][]laterEntry

// recordID names the record that a later entry is about.
type recordID struct {
	kind          ledger.Kind
	name, version string
}

// laterEntry is an entry that is a status or a finding.
type laterEntry struct {
	index int64
	kind  ledger.Kind
}

// addLeaf adds an entry if it is a status or a finding.
func (l laterEntries) addLeaf(index int64, leaf ledger.Leaf) {
	if leaf.Kind != ledger.Status && leaf.Kind != ledger.Finding {
		return
	}
	about := recordID{leaf.Of, leaf.Name, leaf.Version}
	if e := (laterEntry{index, leaf.Kind}); !slices.Contains(l[about], e) {
		l[about] = append(l[about], e)
	}
}

// compareLater asks the registry for the later entries of each record that has new ones since the
// last comparison, and adds an anomaly for each entry that the registry does not name.
func (m *monitor) compareLater(ctx context.Context) error {
	for about, read := range m.laterEntries {
		var withheld []laterEntry
		for try := 0; try <= settleTries; try++ { // another replica may be behind
			if try > 0 {
				if err := m.host.Pause(ctx, settleWait); err != nil {
					return err
				}
			}
			named, err := m.source.recordEntries(ctx, about.kind, about.name, about.version)
			if err != nil && !trail.IsNotFound(err) {
				return evidence.Errorf(evidence.ClassOf(err), m.name, "", err)
			}
			if withheld = findWithheld(read, named); len(withheld) == 0 {
				break
			}
		}
		for _, e := range withheld {
			m.addAnomaly(Anomaly{What: AnomalyWithheld, Index: &e.index,
				Subject:  ledger.Leaf{Kind: about.kind, Name: about.name, Version: about.version}.Subject(),
				Expected: fmt.Sprintf("the %s of entry %d among the later entries about it", e.kind, e.index),
				Actual:   "not named"})
		}
		delete(m.laterEntries, about)
	}
	return nil
}

// findWithheld returns the entries that a registry must name and does not. It must name only the
// newest of each kind, registry.MaxLater in all.
func findWithheld(read []laterEntry, named *registry.RecordEntries) (out []laterEntry) {
	if named == nil { // it says that there is no such record
		return read
	}
	for _, e := range read {
		newer := 0
		for _, o := range read {
			if o.kind == e.kind && o.index > e.index {
				newer++
			}
		}
		if newer < registry.MaxLater/2 && !slices.Contains(named.Later, e.index) {
			out = append(out, e)
		}
	}
	return out
}
