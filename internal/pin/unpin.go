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
	"github.com/hallmark-mcp/hallmark/internal/runline"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/project"
)

// RemoveEmptyDirs removes the directories that deleting files left empty.
func RemoveEmptyDirs(w *workspace.Workspace, deleted []string) {
	own := clientsOwn(w)
	for _, path := range deleted {
		root := w.PlaceDir()
		for dir := filepath.Dir(w.Place(path)); len(dir) > len(root); dir = filepath.Dir(dir) {
			if w.Home != "" && (filepath.Dir(dir) == root || own[dir]) {
				break
			}
			if w.RefuseLink(dir) != nil || os.Remove(dir) != nil {
				break
			}
		}
	}
}

// clientsOwn are directories of clients in the user's home that are elsewhere in it, where links lead to them.
func clientsOwn(w *workspace.Workspace) map[string]bool {
	own := map[string]bool{}
	if w.Home == "" {
		return own
	}
	for _, dir := range []string{w.Home, filepath.Join(w.Home, ".config")} {
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			if e.Type()&os.ModeSymlink == 0 {
				continue
			}
			if real, err := filepath.EvalSymlinks(filepath.Join(dir, e.Name())); err == nil {
				own[real] = true
			}
		}
	}
	return own
}

// UnpinOptions say what to undo.
type UnpinOptions struct {
	// Files selects the clients' files to restore; the zero value means all that are known.
	Files    ClientFiles
	KeepLock bool // restore the clients' files and nothing else
	// Confirm is called before a file inside the project is restored from the originals beside it,
	// because both came with the project. Nil means no.
	Confirm func([]Restored) (bool, error)
}

// Restored is an entry of a client's file that is restored.
type Restored struct {
	Name, File string
	Was        string // the bytes that it gets back, as FILE.hallmark has them
}

// requireConsent fails if nobody consented to what the entries are restored to.
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

// Unpinned is the result of [Unpin] for one server.
type Unpinned struct {
	Name     string   `json:"name"`
	Unlocked bool     `json:"unlocked"` // its entry of the lock was removed
	Declared bool     `json:"declared"` // hallmark.toml goes on declaring it
	Restored []string `json:"restored"` // the clients' files in which its entry is what it was
}

// Unpin undoes [Pin] for the named servers: it restores their entries in files of clients, and
// removes them from the lock, with the files beside it and this machine's approval. They stay
// declared in hallmark.toml. It does all of this or nothing.
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
	var all []Unpinned
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
			w.Lock.Remove(name)
			delete(w.Approvals.Servers, name)
			files = append(files, lockentry.FilesBeside(w, name, &entry, nil, nil)...)
		}
		all = append(all, u)
	}
	if _, err := w.Commit(ctx, files); err != nil {
		return nil, err
	}
	for _, u := range all {
		if u.Unlocked {
			RemoveEmptyDirs(w, []string{project.SurfacesDir + "/" + u.Name, project.ClosuresDir + "/" + u.Name})
		}
	}
	return all, nil
}

// restoreEntries returns the changes that restore the rewritten entries of names in clients' files,
// and the entries by name of the server. It ignores entries that are gone, and refuses an entry
// whose original is unknown. What a file inside the project is restored to came with the project,
// so that needs consent.
func restoreEntries(w *workspace.Workspace,
	o UnpinOptions, names []string) (files []durable.File, where map[string][]string, err error) {
	found, err := o.Files.find(w)
	if err != nil {
		return nil, nil, err
	}
	var foreign []clients.Original
	where = map[string][]string{}
	seen := map[string]bool{}
	for _, f := range found {
		if seen[f.Path] {
			continue
		}
		seen[f.Path] = true
		refuse := func(err error) ([]durable.File, map[string][]string, error) {
			return nil, nil, evidence.Errorf(evidence.Refused, f.Path, "restore it by hand: what it was stands in "+
				clients.OriginalsPath(f.Path), err)
		}
		kept, err := clients.LoadOriginals(f.Path)
		if err != nil {
			return refuse(err)
		}
		at, err := resolveFile(w, f)
		if err != nil {
			return nil, nil, err
		}
		data, err := clients.Read(f)
		if err != nil {
			return refuse(err)
		}
		changed := false
		var left []clients.Original
		for _, o := range slices.Backward(kept) {
			ours := o.Project == w.Dir || o.Project == "" && isInside(w, f.Path)
			if !ours || !slices.Contains(names, o.Name) {
				left = append([]clients.Original{o}, left...)
				continue
			}
			changed = true
			before, err := clients.Restore(data, o.Change)
			switch {
			case errors.Is(err, clients.ErrGone):
				w.Host.Logger.Warn(fmt.Sprintf("%+q is not in its file any more", o.Name), "file", f.Path)
			case err != nil:
				return refuse(err)
			default:
				data = before
				where[o.Name] = append(where[o.Name], f.Path)
				if isInside(w, f.Path) && o.Added == "" { // what was inserted is only taken away
					foreign = append(foreign, o)
				}
			}
		}
		if err := refuseStillStarted(w, f, data, names); err != nil {
			return nil, nil, err
		}
		if !changed {
			continue
		}
		more, err := at.replacements(data, left)
		if err != nil {
			return refuse(err)
		}
		files = append(files, more...)
	}
	return files, where, o.requireConsent(foreign)
}

// refuseStillStarted fails if an entry of a client's file would still start one of names by
// "hallmark run", because its original is unknown.
func refuseStillStarted(w *workspace.Workspace, f clients.File, data []byte, names []string) error {
	entries, err := clients.Parse(f, data)
	if err != nil {
		return nil // a file that cannot be read starts nothing
	}
	for _, e := range entries {
		if runline.ProgramName(e.Command) != "hallmark" || len(e.Args) == 0 || e.Args[0] != "run" {
			continue
		}
		line, _ := runline.Read(e.Args[1:], false)
		entry, _ := w.Lock.Server(line.Name)
		ours := line.Project == w.Dir || line.Project == "" && isInside(w, f.Path)
		if !ours || !slices.Contains(names, line.Name) || entry.Launch.Facet != "" { // which 'install' takes away
			continue
		}
		return evidence.Errorf(evidence.Refused, f.Path,
			fmt.Sprintf("restore %s from version control or a backup; "+
				"or write by hand what the entry is to start, and run the command again",
				clients.OriginalsPath(f.Path)),
			fmt.Errorf("starts %s by 'hallmark run', and what it started before is not known", line.Name))
	}
	return nil
}
