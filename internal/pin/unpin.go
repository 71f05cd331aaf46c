package pin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/clients"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/lockentry"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/project"
)

// RemoveEmptyDirs removes the directories that deleting files left empty.
func RemoveEmptyDirs(w *workspace.Workspace, deleted []string) {
	for _, path := range deleted {
		for dir := filepath.Dir(w.Path(filepath.FromSlash(path))); len(dir) > len(w.Dir); dir = filepath.Dir(dir) {
			if w.RefuseLink(dir) != nil || os.Remove(dir) != nil {
				break
			}
		}
	}
}

// UnpinOptions say what to undo.
type UnpinOptions struct {
	// Files are the clients' files to restore; without any, all that are known.
	Files    ClientFiles
	KeepLock bool // restore the clients' files and nothing else
	// Confirm is asked before a file inside the project gets back what the file beside it says
	// that it was: both came with the project. Nil is no.
	Confirm func([]Restored) (bool, error)
}

// Restored is an entry of a client's file that gets back what it was.
type Restored struct {
	Name, File string
	Was        string // the bytes that it gets back, as FILE.hallmark has them
}

// requireConsent is an error if nobody consented to what entries get back.
func (o UnpinOptions) requireConsent(all []clients.Original) error {
	if len(all) == 0 {
		return nil
	}
	var shown []Restored
	for _, x := range all {
		shown = append(shown, Restored{x.Name, x.File, x.Was})
	}
	yes := false
	if o.Confirm != nil {
		var err error
		if yes, err = o.Confirm(shown); err != nil {
			return err
		}
	}
	if yes {
		return nil
	}
	return evidence.Errorf(evidence.Refused, shown[0].File, "look at it, and consent with --yes",
		fmt.Errorf("would start what %s says that it started, which came with the project, and nobody consented",
			clients.OriginalsPath(shown[0].File)))
}

// Unpinned is what [Unpin] undid for one server.
type Unpinned struct {
	Name     string   `json:"name"`
	Unlocked bool     `json:"unlocked"` // its entry of the lock was removed
	Declared bool     `json:"declared"` // hallmark.toml goes on declaring it
	Restored []string `json:"restored"` // the clients' files in which its entry is what it was
}

// Unpin undoes [Pin] for the named servers: it restores their entries in files of clients,
// and removes them from the lock, with the files beside it and this machine's approval.
// hallmark.toml goes on declaring them. All of it happens or nothing.
func Unpin(ctx context.Context, h *host.Host, dir string, names []string, o UnpinOptions) ([]Unpinned, error) {
	w, done, err := workspace.OpenOrBegin(ctx, h, dir, true, true)
	if err != nil {
		return nil, err
	}
	defer done()
	names = slices.Clone(names)
	slices.Sort(names)
	names = slices.Compact(names)
	files, where, err := restoreEntries(w, o, names)
	if err != nil {
		return nil, err
	}
	var (
		all  []Unpinned
		lock bool
	)
	for _, name := range names {
		entry, locked := w.Lock.Server(name)
		u := Unpinned{Name: name, Unlocked: locked && !o.KeepLock, Restored: append([]string{}, where[name]...)}
		_, u.Declared = w.Config.Servers[name]
		if !u.Unlocked && len(u.Restored) == 0 {
			if !locked && !u.Declared {
				return nil, project.NoSuch("server", project.LockFile+" and the clients' files that are known", name,
					w.ServerNames())
			}
			return nil, evidence.Errorf(evidence.Validation, fmt.Sprintf("%+q", name),
				"a client's file elsewhere is named with --config; 'hallmark check' shows what is pinned",
				errors.New("is not pinned, and no client's file that is known was rewritten for it"))
		}
		if u.Unlocked {
			lock = true
			w.Lock.Remove(name)
			delete(w.Approvals.Servers, name)
			files = append(files, lockentry.FilesBeside(w, name, &entry, nil, nil)...)
		}
		all = append(all, u)
	}
	if lock {
		accepted, err := lockFiles(w)
		if err != nil {
			return nil, err
		}
		files = append(files, accepted...)
	}
	if err := w.Replace(ctx, files); err != nil {
		return nil, err
	}
	for _, u := range all {
		if u.Unlocked {
			RemoveEmptyDirs(w, []string{project.SurfacesDir + "/" + u.Name, project.ClosuresDir + "/" + u.Name})
		}
	}
	return all, nil
}

// lockFiles are the lock and this machine's approvals, as they are now. A lock that accepts
// nothing says no more than a missing one.
func lockFiles(w *workspace.Workspace) ([]durable.File, error) {
	lock, err := w.Lock.Encode()
	if err != nil {
		return nil, err
	}
	approvals, err := w.Approvals.Encode()
	locked := durable.File{Path: w.Path(project.LockFile), Data: lock, Perm: 0o644}
	if len(w.Lock.Servers()) == 0 && len(w.Lock.Facets()) == 0 {
		locked = durable.File{Path: locked.Path, Remove: true}
	}
	return []durable.File{
		locked,
		{Path: w.ApprovalsPath(), Data: approvals, Perm: 0o600},
	}, err
}
