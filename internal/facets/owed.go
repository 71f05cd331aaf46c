package facets

import (
	"context"
	"maps"
	"slices"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/obtain"
	"github.com/hallmark-mcp/hallmark/internal/owed"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
)

// demandServersCovered demands that each server which hallmark.toml declares is locked as it is
// declared, with the files and the proof that its entry owes, and that each locked one is
// declared.
func demandServersCovered(ctx context.Context, w *workspace.Workspace, logs *trail.Logs, offline bool,
	demands owed.Demands) error {
	var report evidence.Report
	for _, name := range demands.Servers() {
		declared, ok := w.LockedServer(name)
		if mine := w.Config.Servers[name]; !ok && mine.Facet != "" {
			declared, ok = mine, true
		}
		var found evidence.Report
		entry, locked := w.Lock.Server(name)
		if locked {
			stored, err := workspace.ReadStored(w, name, entry)
			if err != nil {
				return err
			}
			proof, err := logs.InstalledProof(ctx, w.Lock, entry.Record, offline)
			if err != nil {
				return err
			}
			found = append(stored.Report, proof...)
		}
		switch {
		case ok && locked:
			found = append(found, workspace.LaunchEvidence(w, declared, &entry))
		case ok && declared.Unlocked:
			found = evidence.Report{workspace.WaiveUnlocked(workspace.LaunchEvidence(w, declared, nil))}
		}
		report = append(report, demands.Server(name).Settle(found).About(w.ServerEntry(name))...)
	}
	return policy.Judge(policy.Check, policy.Settings{}, report).Err()
}

// demandServersRemembered demands, before an installation that may write the lock, that each server
// which this machine approved still has its entry, and that each entry has the files and the proof
// that it owes. A server that is declared and was never pinned is left to 'pin', and a server of a
// facet to the installation itself.
func demandServersRemembered(w *workspace.Workspace, demands owed.Demands) error {
	var report evidence.Report
	for _, name := range demands.Servers() {
		var found evidence.Report
		if entry, locked := w.Lock.Server(name); locked {
			stored, err := workspace.ReadStored(w, name, entry)
			if err != nil {
				return err
			}
			found = stored.Report
		}
		expected := slices.DeleteFunc(demands.Server(name).Of(evidence.Launch, evidence.Document, evidence.Proof,
			evidence.LogKey, evidence.Cosignature, evidence.Checkpoint), func(x owed.Expectation) bool {
			switch x.Scheme {
			case evidence.Launch:
				return x.By != evidence.Machine || lockedOrOfFacet(w, name)
			case evidence.Proof: // that of a facet's server comes with another version of the facet
				entry, _ := w.Lock.Server(name)
				return entry.Launch.Facet != ""
			}
			return false
		})
		report = append(report, expected.Settle(found).About(w.ServerEntry(name))...)
	}
	return policy.Judge(policy.Check, policy.Settings{}, report).Err()
}

// lockedOrOfFacet reports whether a server has an entry, or needs no table of its own in hallmark.toml.
func lockedOrOfFacet(w *workspace.Workspace, name string) bool {
	_, locked := w.Lock.Server(name)
	mine, declared := w.Config.Servers[name]
	return locked || !declared || mine.Facet != ""
}

// demandRemembered demands the servers that this machine remembers, and what their entries owe: an
// installation that may write the lock must not silently replace what was removed.
func (a *Assembly) demandRemembered() error {
	demands, err := a.Demands()
	if err != nil {
		return err
	}
	return demandServersRemembered(a.Workspace, demands)
}

// demandCovered demands, before any request, that the lock has an entry for every facet that
// hallmark.toml declares and that those bring along, and no other.
func (a *Assembly) demandCovered(ctx context.Context) error {
	demands, err := a.Demands()
	if err != nil {
		return err
	}
	if err := demandServersCovered(ctx, a.Workspace, a.Logs, a.o.Offline, demands); err != nil {
		return err
	}
	var report evidence.Report
	for _, name := range slices.Sorted(maps.Keys(a.Workspace.Config.Facets)) {
		entry, ok := a.Workspace.Lock.Facet(name)
		report = append(report, obtain.SourceEvidence(a.Workspace.Config.Registry, a.Workspace.Config.Facets[name],
			entry, ok))
	}
	for _, name := range demands.Facets() {
		entry, locked := a.Workspace.Lock.Facet(name)
		brought := BroughtEvidence(a.Workspace, demands.Bringing(name), name, entry, locked)
		if _, declared := a.Workspace.Config.Facets[name]; !declared && locked && len(brought) == 0 {
			c := obtain.SourceClaim(name)
			c.Text = entry.Source.String() + " " + entry.Version
			e := evidence.Fact(c, "no longer declared")
			e.Observed.From = project.ConfigFile
			brought = append(brought, e)
		}
		report = append(report, brought...)
	}
	var expected owed.List
	for _, name := range demands.Facets() {
		expected = append(expected, demands.Facet(name).Of(evidence.Source)...)
	}
	return policy.Judge(policy.Install, a.Settings(), expected.Settle(report)).Err()
}
