package facets

import (
	"bytes"
	"maps"
	"os"
	"slices"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/installed"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
)

// updateLock sets the lock to what was gathered and returns all files that change: those of the
// plan and more, hallmark.toml with its new text, and what Hallmark itself keeps.
func (a *Assembly) updateLock(adm policy.Admitted, text []byte, p *installed.Plan,
	more []durable.File) ([]durable.File, error) {
	w, files := a.Workspace, slices.Concat(p.Files, more)
	empty := len(a.Pieces) == 0 // then files that do not exist are not created
	add := func(path string, data []byte, perm os.FileMode) error {
		old, err := host.ReadFile(path, max(project.MaxLock, project.MaxReceipt))
		if err == nil && !bytes.Equal(old, data) && !(old == nil && empty) {
			files = append(files, durable.File{Path: path, Data: data, Perm: perm})
		}
		return err
	}
	if !a.o.Frozen {
		for _, name := range slices.Sorted(maps.Keys(a.Pieces)) {
			if err := w.Lock.AddFacet(adm, name, a.Pieces[name].Entry); err != nil {
				return nil, err
			}
		}
		for _, name := range w.Lock.Facets() {
			if _, ok := a.Pieces[name]; !ok {
				w.Lock.RemoveFacet(name)
			}
		}
		if text != nil {
			if err := add(w.Path(project.ConfigFile), text, 0o644); err != nil {
				return nil, err
			}
		}
		data, err := w.Lock.Encode()
		if err != nil {
			return nil, err
		}
		if err := add(w.Path(project.LockFile), data, 0o644); err != nil {
			return nil, err
		}
	}
	remembered, err := a.rememberFacets()
	if err != nil {
		return nil, err
	}
	if remembered != nil {
		if err := add(w.ApprovalsPath(), remembered, 0o600); err != nil {
			return nil, err
		}
	}
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

// withApprovals replaces the files of this machine's approvals, of which several steps of one change
// return one each, by one file with the approvals as they are now.
func withApprovals(w *workspace.Workspace, files []durable.File) ([]durable.File, error) {
	ours := func(f durable.File) bool { return f.Path == w.ApprovalsPath() }
	if !slices.ContainsFunc(files, ours) {
		return files, nil
	}
	data, err := w.Approvals.Encode()
	return append(slices.DeleteFunc(files, ours), durable.File{Path: w.ApprovalsPath(), Data: data, Perm: 0o600}), err
}

// rememberFacets adds the installed facets to what this machine accepted, removes those that are no
// longer installed, and returns the encoded approvals; nil if they did not change.
func (a *Assembly) rememberFacets() ([]byte, error) {
	w, changed := a.Workspace, false
	for name := range w.Approvals.Facets {
		if _, ok := a.Pieces[name]; !ok {
			delete(w.Approvals.Facets, name)
			changed = true
		}
	}
	logs := map[string]project.AcceptedLog{} // by registry
	for name, x := range a.Pieces {
		now := project.AcceptedFacet{Version: x.Entry.Version, Integrity: x.Entry.Integrity}
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
			before.LogKey == now.LogKey && before.LogSize >= now.LogSize && before.Quorum == now.Quorum &&
			before.MaxAge == now.MaxAge {
			continue
		}
		now.At, changed = w.Host.Now().UTC(), true
		w.Approvals.Facets[name] = now
	}
	if !changed {
		return nil, nil
	}
	return w.Approvals.Encode()
}
