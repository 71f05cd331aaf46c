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

// laterEntries are the statuses and findings among the entries that a monitor read, by what
// they are about. Those who rely on a record ask the registry for them, which a monitor alone
// can find to leave one out.
type laterEntries map[recordID][]laterEntry

// recordID is what a later entry is about.
type recordID struct {
	kind          ledger.Kind
	name, version string
}

type laterEntry struct {
	index int64
	kind  ledger.Kind
}

// addLeaf remembers an entry that is a status or a finding.
func (l laterEntries) addLeaf(index int64, leaf ledger.Leaf) {
	if leaf.Kind != ledger.Status && leaf.Kind != ledger.Finding {
		return
	}
	about := recordID{leaf.Of, leaf.Name, leaf.Version}
	if e := (laterEntry{index, leaf.Kind}); !slices.Contains(l[about], e) {
		l[about] = append(l[about], e)
	}
}

// compareLater asks the registry for the later entries about each record of which the monitor
// read some since it did so last, and finds those that it does not name.
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
			m.addAnomaly(Anomaly{What: AnomalyWithheld, Index: &e.index, Subject: ledger.Leaf{Kind: about.kind, Name: about.name, Version: about.version}.Subject(),
				Expected: fmt.Sprintf("the %s of entry %d among the later entries about it", e.kind, e.index), Actual: "not named"})
		}
		delete(m.laterEntries, about)
	}
	return nil
}

// findWithheld are the entries that a registry does not name, and is to: the newest of each kind.
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
