package pin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/clients"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/launcher"
	"github.com/hallmark-mcp/hallmark/project"
)

// RemoveEmptyDirs removes the directories that deleting files left empty, but for those that keep names, relative to
// [workspace.Workspace.PlaceDir].
func RemoveEmptyDirs(w *workspace.Workspace, deleted, keep []string) {
	own := clientsOwn(w)
	for _, dir := range keep {
		own[w.Place(dir)] = true
	}
	for _, path := range deleted {
		root := w.PlaceDir()
		for dir := filepath.Dir(w.Place(path)); len(dir) > len(root); dir = filepath.Dir(dir) {
			if own[dir] || w.Home != "" && filepath.Dir(dir) == root {
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
	// Undeclare takes the servers out of hallmark.toml too, and the file with the last of what it declares.
	Undeclare bool
	// Each undoes what can be undone: an entry that cannot be restored is in the result, and its server stays locked.
	Each bool
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
	if o.Confirm != nil {
		if yes, err := o.Confirm(shown); yes || err != nil {
			return err
		}
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
	Err      error    `json:"-"`        // why one is not; the server stays locked then
}

// Unpin undoes [Pin] for the named servers, or all that no facet brought: it restores their entries in files of
// clients, and removes them from the lock, with the files beside it and this machine's approval. They stay
// declared in hallmark.toml, unless o.Undeclare. It does all of this or nothing, unless o.Each.
func Unpin(ctx context.Context, h *host.Host, dir string, names []string, o UnpinOptions) ([]Unpinned, error) {
	w, done, err := workspace.OpenOrBegin(ctx, h, dir, true, true)
	if err != nil && o.Each && ctx.Err() == nil {
		return restoreUnread(ctx, h, dir, names, o, err)
	}
	if err != nil {
		return nil, err
	}
	defer done()
	if names, err = undoable(w, o, names); err != nil {
		return nil, err
	}
	files, where, failed, err := restoreEntries(w, o, names)
	if err != nil {
		return nil, err
	}
	var all []Unpinned
	var gone []string // names of servers that need not be declared any more
	for _, name := range names {
		restored := append([]string{}, where[name]...)
		if err := failed[name]; err != nil {
			all = append(all, Unpinned{Name: name, Restored: restored, Err: err})
			continue
		}
		u, more, err := unpinServer(w, o, name, restored)
		if err != nil {
			return nil, err
		}
		all, files, gone = append(all, u), append(files, more...), append(gone, name)
	}
	if o.Undeclare {
		config, err := undeclare(w, gone)
		if err != nil {
			return nil, err
		}
		files = append(files, config...)
	}
	if _, err := w.Commit(ctx, files); err != nil {
		return nil, err
	}
	removeOwnEmptyDirs(w)
	return all, nil
}

// unpinServer removes one server, whose entries in restored are what they were, from the lock and the approvals of w.
// It returns the changes of the files beside the lock.
func unpinServer(w *workspace.Workspace, o UnpinOptions, name string, restored []string) (u Unpinned,
	files []durable.File, err error) {
	entry, locked := w.Lock.Server(name)
	u = Unpinned{Name: name, Unlocked: locked && !o.KeepLock, Restored: restored}
	_, u.Declared = w.Config.Servers[name]
	if !u.Unlocked && len(u.Restored) == 0 && !o.Each {
		if !locked && !u.Declared && len(w.ServerNames()) == 0 {
			return u, nil, evidence.Errorf(evidence.Validation, fmt.Sprintf("%+q", name),
				"'hallmark status' shows the servers of your clients, and which are protected",
				fmt.Errorf("is not pinned in %s, and no other server is", w.Dir))
		}
		if !locked && !u.Declared {
			return u, nil, project.NoSuch("server", project.LockFile+" and the clients' files that are known", name,
				w.ServerNames())
		}
		return u, nil, evidence.Errorf(evidence.Validation, fmt.Sprintf("%+q", name),
			"a client's file elsewhere is named with --config; 'hallmark check' shows what is pinned",
			errors.New("is not pinned, and no client's file that is known was rewritten for it"))
	}
	if u.Unlocked {
		w.Lock.Remove(name)
		files = append(files, workspace.FilesBeside(w, name, &entry, nil, nil)...)
	}
	if o.Undeclare {
		u.Declared = false
		if !u.Unlocked {
			files = append(files, durable.File{Path: w.SurfacePath(name), Remove: true},
				durable.File{Path: w.ClosurePath(name), Remove: true})
		}
	}
	if u.Unlocked || o.Undeclare { // undone is undone, also where the entry was gone before
		delete(w.Approvals.Servers, name)
	}
	return u, files, nil
}

// removeOwnEmptyDirs removes the directories beside the lock that have no files any more, and that of the user's own
// project.
func removeOwnEmptyDirs(w *workspace.Workspace) {
	empty := []string{w.Path(project.SurfacesDir), w.Path(project.ClosuresDir)}
	if w.Home != "" {
		empty = append(empty, w.Dir)
	}
	for _, dir := range empty {
		if w.RefuseLink(dir) == nil {
			_ = os.Remove(dir) // one that has files stays
		}
	}
}

// restoreUnread restores what entries of clients' files started, of a project that cannot be read, as why says: nothing
// that a project has decides that. Its servers stay locked.
func restoreUnread(ctx context.Context, h *host.Host, dir string, names []string, o UnpinOptions,
	why error) ([]Unpinned, error) {
	w, err := workspace.Gone(h, dir)
	if w == nil {
		return nil, errors.Join(why, err)
	}
	if names, err = undoable(w, o, names); err != nil {
		return nil, errors.Join(why, err)
	}
	files, where, failed, err := restoreEntries(w, o, names)
	if err == nil {
		err = w.Replace(ctx, files)
	}
	if err == nil && o.Undeclare {
		err = w.UpdateApprovals(ctx, func(a *project.Approvals) bool {
			before := len(a.Servers)
			maps.DeleteFunc(a.Servers, func(name string, _ project.Approval) bool {
				return slices.Contains(names, name) && failed[name] == nil
			})
			return len(a.Servers) != before
		})
	}
	if err != nil {
		return nil, errors.Join(why, err)
	}
	var all []Unpinned
	for _, name := range names {
		all = append(all, Unpinned{Name: name, Restored: append([]string{}, where[name]...), Err: failed[name]})
	}
	return all, why
}

// undoable returns names, sorted, or if there are none those of the servers that hallmark.toml declares, and of those
// that entries of clients' files were rewritten to start.
func undoable(w *workspace.Workspace, o UnpinOptions, names []string) ([]string, error) {
	if len(names) > 0 {
		return slices.Compact(slices.Sorted(slices.Values(names))), nil
	}
	names = slices.Collect(maps.Keys(w.Config.Servers))
	for _, name := range w.Lock.Servers() { // of which hallmark.toml may have gone
		if entry, _ := w.Lock.Server(name); entry.Launch.Facet == "" {
			names = append(names, name)
		}
	}
	found, err := o.Files.findRewritten(w)
	if err != nil {
		return nil, err
	}
	for _, f := range found {
		kept, err := clients.LoadOriginals(f.Path)
		if err != nil {
			return nil, evidence.Errorf(evidence.Validation, f.Path, "", err)
		}
		for _, x := range kept {
			if isOwnOriginal(w, f, x) && x.Added == "" {
				names = append(names, x.ServerName())
			}
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(names))), nil
}

// isOwnOriginal reports whether an original of f is of an entry that starts a server of this project.
func isOwnOriginal(w *workspace.Workspace, f clients.File, o clients.Original) bool {
	return o.Project == w.Dir || o.Project == "" && host.IsBelow(w.Dir, f.Path)
}

// undeclare returns the change of hallmark.toml after which it does not declare the servers called names.
func undeclare(w *workspace.Workspace, names []string) ([]durable.File, error) {
	if w.Text == nil {
		return nil, nil
	}
	text, err := workspace.RemoveServers(w.Text, names)
	if err != nil || bytes.Equal(text, w.Text) {
		return nil, err
	}
	if string(text) == project.EmptyConfig {
		return []durable.File{{Path: w.Path(project.ConfigFile), Remove: true}}, nil
	}
	return []durable.File{{Path: w.Path(project.ConfigFile), Data: text, Perm: w.FilePerm()}}, nil
}

// restoreEntries returns the changes that restore the rewritten entries of names in clients' files,
// and the entries by name of the server. It ignores entries that are gone, and refuses an entry
// whose original is unknown. What a file inside the project is restored to came with the project,
// so that needs consent. With o.Each what cannot be restored is in failed, by the server's name, and the file stays.
func restoreEntries(w *workspace.Workspace, o UnpinOptions, names []string) (files []durable.File,
	where map[string][]string, failed map[string]error, err error) {
	found, err := o.Files.findRewritten(w)
	if err != nil {
		return nil, nil, nil, err
	}
	r := &restoration{w: w, each: o.Each, names: names, where: map[string][]string{}, failed: map[string]error{},
		moved: map[string]bool{}}
	for _, f := range found {
		r.findMoved(f)
	}
	seen := map[string]bool{}
	for _, f := range found {
		if seen[f.Path] {
			continue
		}
		seen[f.Path] = true
		more, err := r.restoreFile(f)
		if err != nil {
			return nil, nil, nil, err
		}
		files = append(files, more...)
	}
	return files, r.where, r.failed, o.requireConsent(r.foreign)
}

// restoration is what was restored so far of the entries that start the servers called names.
type restoration struct {
	w       *workspace.Workspace
	each    bool // what cannot be restored does not stop the others
	names   []string
	where   map[string][]string // by the server's name, the files in which its entry is restored
	failed  map[string]error    // by the server's name, why it is not
	foreign []clients.Original  // those restored that came with the project
	moved   map[string]bool     // servers that an entry starts of a file which has no original of it
}

// findMoved notes the servers that entries of a file start which were moved to it from another. What they were is kept
// there, though the entry is gone.
func (r *restoration) findMoved(f clients.File) {
	kept, unknown := clients.LoadOriginals(f.Path)
	data, unread := clients.Read(f)
	if unknown != nil || unread != nil { // of which restoreFile says so
		return
	}
	for name := range stillStarted(r.w, f, data, r.names) {
		r.moved[name] = r.moved[name] || !slices.ContainsFunc(kept, func(o clients.Original) bool {
			return o.ServerName() == name && isOwnOriginal(r.w, f, o)
		})
	}
}

// restoreFile restores the entries of one file, and returns the changes.
func (r *restoration) restoreFile(f clients.File) ([]durable.File, error) {
	kept, err := clients.LoadOriginals(f.Path)
	if err != nil {
		return nil, refuseRestoring(f, err)
	}
	at, err := resolveFile(r.w, f)
	if errors.Is(err, fs.ErrNotExist) {
		return r.forgetFile(f, kept)
	}
	if err != nil {
		return nil, err
	}
	data, err := clients.Read(f)
	if err != nil {
		return nil, refuseRestoring(f, err)
	}
	changed := false
	var left []clients.Original
	for _, original := range slices.Backward(kept) {
		server, done := original.ServerName(), false
		if isOwnOriginal(r.w, f, original) && slices.Contains(r.names, server) {
			before := data
			if data, err = r.restoreEntry(f, data, original, kept); err != nil && !r.each {
				return nil, err
			} else if err != nil {
				r.failed[server] = err
			}
			done = err == nil && (!r.moved[server] || !bytes.Equal(before, data))
		}
		if changed = changed || done; !done {
			left = append([]clients.Original{original}, left...)
		}
	}
	for name, err := range stillStarted(r.w, f, data, r.names) {
		if !r.each {
			return nil, err
		}
		if r.failed[name] == nil {
			r.failed[name] = err
		}
	}
	if !changed {
		return nil, nil
	}
	files, err := at.replacements(data, left)
	if err != nil {
		return nil, refuseRestoring(f, err)
	}
	return files, nil
}

// restoreCopies returns data, of a client's file, in which those entries are what original was that its client renamed
// or copied it to, and these: they start the same by other names, and nothing else is known of them.
func restoreCopies(f clients.File, data []byte, original clients.Original,
	kept []clients.Original) (after []byte, copies []clients.Original) {
	servers, err := clients.Parse(f, data)
	if err != nil || original.Added != "" {
		return data, nil
	}
	for _, s := range servers {
		if slices.ContainsFunc(kept, func(o clients.Original) bool { return o.Name == s.Name && o.Scope == s.Scope }) {
			continue
		}
		copied := original
		copied.Name, copied.Scope, copied.Server = s.Name, s.Scope, original.ServerName()
		if before, err := clients.Restore(data, copied.Change); err == nil {
			data, copies = before, append(copies, copied)
		}
	}
	return data, copies
}

// forgetFile returns the change after which nothing is kept of the entries of a file that is gone, but of those that
// were moved to another.
func (r *restoration) forgetFile(f clients.File, kept []clients.Original) ([]durable.File, error) {
	left := slices.DeleteFunc(slices.Clone(kept), func(o clients.Original) bool {
		own := isOwnOriginal(r.w, f, o) && slices.Contains(r.names, o.ServerName()) && !r.moved[o.ServerName()]
		if own && o.Added == "" {
			r.w.Host.Logger.Warn(fmt.Sprintf("%+q has nothing to be given back: its file is gone", o.Name),
				"file", f.Path)
		}
		return own
	})
	if len(left) == len(kept) {
		return nil, nil
	}
	files, err := realFile{file: f, perm: 0o600}.replacements(nil, left)
	if err != nil {
		return nil, refuseRestoring(f, err)
	}
	return files[1:], nil
}

// restoreEntry returns data, of a client's file, with what an entry was, and its copies; without it if the entry is
// gone, which is done as well; and as it is if it fails.
func (r *restoration) restoreEntry(f clients.File, data []byte, original clients.Original,
	kept []clients.Original) ([]byte, error) {
	after, restored := restoreCopies(f, data, original, kept)
	before, err := clients.Restore(after, original.Change)
	if errors.Is(err, clients.ErrChanged) && r.each && !startsServer(r.w, f, data, original) {
		err = fmt.Errorf("%+q %w", original.Name, clients.ErrGone) // the user wrote what it starts
	}
	switch {
	case errors.Is(err, clients.ErrGone) && len(restored) > 0:
		before = after
	case errors.Is(err, clients.ErrGone):
		r.w.Host.Logger.Warn(fmt.Sprintf("%+q was changed or removed since, and is left alone", original.Name),
			"file", f.Path)
		return data, nil
	case err != nil:
		return data, refuseRestoring(f, err)
	default:
		restored = append(restored, original)
	}
	for _, o := range restored {
		r.addRestored(f, o)
	}
	return before, nil
}

// addRestored notes that an entry of a client's file is what it was.
func (r *restoration) addRestored(f clients.File, original clients.Original) {
	if server := original.ServerName(); !slices.Contains(r.where[server], f.Path) {
		r.where[server] = append(r.where[server], f.Path)
	}
	if host.IsBelow(r.w.Dir, f.Path) && original.Added == "" { // what was inserted is only taken away
		r.foreign = append(r.foreign, original)
	}
}

// refuseRestoring is the error of a client's file whose entries cannot be restored.
func refuseRestoring(f clients.File, err error) error {
	return evidence.Errorf(evidence.Refused, f.Path, "restore it by hand: what it was stands in "+
		clients.OriginalsPath(f.Path), err)
}

// startsServer reports whether the entry of an original still starts its server, or cannot be told to start another
// program.
func startsServer(w *workspace.Workspace, f clients.File, data []byte, o clients.Original) bool {
	servers, err := clients.Parse(f, data)
	if err != nil {
		return true
	}
	return slices.ContainsFunc(servers, func(s clients.Server) bool {
		return s.Name == o.Name && s.Scope == o.Scope && clients.ProgramName(s.Command) == "hallmark"
	})
}

// stillStarted returns an error for each of names that an entry of a client's file would still start by "hallmark run",
// because its original is unknown.
func stillStarted(w *workspace.Workspace, f clients.File, data []byte, names []string) map[string]error {
	out := map[string]error{}
	entries, err := clients.Parse(f, data)
	if err != nil {
		return nil // a file that cannot be read starts nothing
	}
	for _, e := range entries {
		if clients.ProgramName(e.Command) != "hallmark" || len(e.Args) == 0 || e.Args[0] != "run" {
			continue
		}
		line, _ := clients.ReadRunLine(e.Args[1:], false)
		entry, _ := w.Lock.Server(line.Name)
		ours := line.Project == w.Dir || line.Project == "" && host.IsBelow(w.Dir, f.Path)
		if !ours || !slices.Contains(names, line.Name) || entry.Launch.Facet != "" { // which 'install' takes away
			continue
		}
		started := ""
		if declared, ok := w.Config.Servers[line.Name]; ok && declared.Command != "" {
			started = ", as " + project.ConfigFile + " has it"
			line := append([]string{declared.Command}, declared.Arguments...)
			if slices.Equal(launcher.Redact(line), line) {
				_, command, args := launcher.DescribeInner(line)
				started += " (command = " + command + ", arguments = " + args + ")"
			}
		}
		out[line.Name] = evidence.Errorf(evidence.Refused, f.Path,
			fmt.Sprintf("restore %s from version control or a backup; "+
				"or write by hand what the entry is to start%s, and run the command again",
				clients.OriginalsPath(f.Path), started),
			fmt.Errorf("starts %s by 'hallmark run', and what it started before is not known", line.Name))
	}
	return out
}
