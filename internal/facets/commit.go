package facets

import (
	"bytes"
	"maps"
	"os"
	"slices"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/facet"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/installed"
	"github.com/hallmark-mcp/hallmark/internal/machine"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
)

// updateLock sets the lock, and what this machine accepted, to what was gathered. It returns the other files that
// change: those of the plan and more, hallmark.toml with its new text, and what Hallmark itself keeps.
func (a *Assembly) updateLock(adm policy.Admitted, text []byte, p *installed.Plan,
	more []durable.File) ([]durable.File, error) {
	w, files := a.Workspace, slices.Concat(p.Files, more)
	empty := len(a.Pieces) == 0 // then files that do not exist are not created
	add := func(path string, data []byte, perm os.FileMode) error {
		old, err := host.ReadFile(path, max(project.MaxLock, machine.MaxReceipt))
		if err == nil && !bytes.Equal(old, data) && !(old == nil && empty) {
			files = append(files, durable.File{Path: path, Data: data, Perm: perm})
		}
		return err
	}
	if !a.o.Frozen {
		for _, name := range slices.Sorted(maps.Keys(a.Pieces)) {
			entry, declared := a.Pieces[name].Entry, w.Config.Facets[name]
			entry.Prefix, entry.Parts = declared.Prefix, declared.Parts
			if err := w.Lock.AddFacet(adm, name, entry); err != nil {
				return nil, err
			}
		}
		for _, name := range w.Lock.Facets() {
			if _, ok := a.Pieces[name]; !ok {
				w.Lock.RemoveFacet(name)
			}
		}
		if text != nil {
			if err := add(w.Path(project.ConfigFile), text, w.FilePerm()); err != nil {
				return nil, err
			}
		}
		w.Lock.Renew()
	}
	a.rememberFacets()
	records, err := p.Records()
	if err != nil {
		return nil, err
	}
	for _, f := range records {
		if err := add(f.Path, f.Data, f.Perm); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// rememberFacets adds the installed facets to what this machine accepted. What was accepted before and is not
// installed any more stays remembered: the project's files may have lost it.
func (a *Assembly) rememberFacets() {
	w := a.Workspace
	logs := map[string]project.AcceptedLog{} // by registry
	for name, x := range a.Pieces {
		now := project.AcceptedFacet{Version: x.Entry.Version, Integrity: x.Entry.Integrity, Servers: []string{},
			Composes: slices.Sorted(maps.Keys(x.Entry.Composes))}
		for _, declared := range x.servers() {
			now.Servers = append(now.Servers, facet.EntryName(declared))
		}
		if r := x.LockedRecord(); r != nil && r.Proof != "" {
			log, ok := logs[r.Registry]
			if !ok {
				log = a.Logs.FindAccepted(r)
				logs[r.Registry] = log
			}
			now.AcceptedLog = log
		}
		before, ok := w.Approvals.Facets[name]
		if ok && before.Version == now.Version && evidence.Same(before.Integrity, now.Integrity) &&
			slices.Equal(before.Servers, now.Servers) && before.Servers != nil &&
			slices.Equal(before.Composes, now.Composes) &&
			before.LogKey == now.LogKey && before.LogSize >= now.LogSize && before.Quorum == now.Quorum &&
			before.MaxAge == now.MaxAge {
			continue
		}
		now.At = w.Host.Now().UTC()
		w.Approvals.Facets[name] = now
	}
}

// forgetFacets forgets facets that a person removed, with what only they brought along, and their servers; also those
// that were approved of a facet which was never installed here.
func (a *Assembly) forgetFacets(names []string) {
	memory := a.Workspace.Approvals
	for _, name := range names {
		if _, installed := a.Pieces[name]; installed {
			continue
		}
		composes := memory.Facets[name].Composes
		delete(memory.Facets, name)
		for server, approval := range memory.Servers {
			if approval.Facet == name {
				delete(memory.Servers, server)
			}
		}
		a.forgetFacets(composes)
	}
}
