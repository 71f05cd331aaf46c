package scan

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/clients"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/pin"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
)

// UndoProtect gives the files of the user's clients back what the entries of the servers called names, or all, started
// before they were protected, in whichever project they are locked. Those that [Protect] locked are unlocked, and
// declared no more. What cannot be restored is in the result, and all errors are joined in the one that is returned.
func UndoProtect(ctx context.Context, h *host.Host, home string, names []string) ([]pin.Unpinned, error) {
	projects, failed, err := rewritten(h, home, len(names) > 0)
	if err != nil {
		return nil, err
	}
	var undone []pin.Unpinned
	known := map[string]bool{}
	for _, dir := range projects.dirs {
		chosen := projects.choose(dir, names, known)
		if len(names) > 0 && len(chosen) == 0 {
			continue
		}
		own := dir == host.RealPath(h.Places.Config)
		if own && len(names) == 0 {
			chosen = nil // also what is declared there, and no client starts any more
		}
		keep := !own || len(projects.unread) > 0 // which may still start what is locked
		all, err := pin.Unpin(ctx, h, dir, chosen, pin.UnpinOptions{
			Files: pin.ClientFiles{Home: home, Skip: projects.unread}, Each: true, KeepLock: keep, Undeclare: !keep})
		if _, gone := os.Stat(dir); errors.Is(gone, fs.ErrNotExist) && all != nil {
			err = nil // with what was locked
		} else if unreadable := checkReadable(h, dir, ""); err != nil && unreadable != nil {
			err = unreadable
		}
		if err != nil {
			failed = append(failed, err)
		}
		for _, u := range all {
			failed = append(failed, u.Err)
		}
		undone = append(undone, all...)
	}
	for _, name := range names {
		if !known[name] {
			failed = append(failed, evidence.Errorf(evidence.Validation, fmt.Sprintf("%+q", name),
				"'hallmark status' shows what is protected",
				errors.New("no client's file was changed for a server of that name")))
		}
	}
	return undone, errors.Join(failed...)
}

// lockedServers are the names of the servers in the lock of the user's own clients that no facet brought.
func lockedServers(h *host.Host) []string {
	w, err := workspace.Peek(h, h.Places.Config)
	if err != nil || w.ReadFiles() != nil { // of which protect and undo say why
		return nil
	}
	return slices.DeleteFunc(w.Lock.Servers(), func(name string) bool {
		entry, _ := w.Lock.Server(name)
		return entry.Launch.Facet != ""
	})
}

// Unused returns the servers that are locked for the user's own clients and that no entry of r starts, as one that was
// removed by hand. r is a scan of all files; it returns none if one of them cannot be read.
func (r *Result) Unused(h *host.Host) []string {
	if unread, _ := r.Unread(); len(unread) > 0 {
		return nil
	}
	own := host.RealPath(h.Places.Config)
	return slices.DeleteFunc(lockedServers(h), func(name string) bool {
		return slices.ContainsFunc(r.Servers, func(s Server) bool {
			return s.Runs != nil && s.Runs.Project == own && s.Runs.Name == name
		})
	})
}

// rewrittenIn are the projects whose servers entries of the user's files were rewritten to start.
type rewrittenIn struct {
	dirs   []string
	names  map[string][]rewrittenName
	unread []string // files of which it is not known what their entries were
}

// rewrittenName is what an entry is called, and the server that it starts now.
type rewrittenName struct{ entry, server string }

// add adds names of servers of the project in dir.
func (r *rewrittenIn) add(dir string, names ...rewrittenName) {
	if !slices.Contains(r.dirs, dir) {
		r.dirs = append(r.dirs, dir)
	}
	r.names[dir] = append(r.names[dir], names...)
}

// choose returns the servers of the project in dir that names name, by themselves or by their entry, and adds both to
// known. Without names it returns all.
func (r rewrittenIn) choose(dir string, names []string, known map[string]bool) (chosen []string) {
	for _, x := range r.names[dir] {
		if len(names) == 0 || slices.Contains(names, x.server) || slices.Contains(names, x.entry) {
			chosen = append(chosen, x.server)
			known[x.server], known[x.entry] = true, true
		}
	}
	return chosen
}

// rewritten reads which entries of the user's files were rewritten. named says that the user named servers.
func rewritten(h *host.Host, home string, named bool) (r rewrittenIn, failed []error, err error) {
	r.names = map[string][]rewrittenName{}
	own := host.RealPath(h.Places.Config)
	if _, err := os.Stat(own); err == nil {
		r.add(own)
	}
	var locked []clients.Original // of servers whose entries may be gone, or in other files
	for _, name := range lockedServers(h) {
		locked = append(locked, clients.Original{Project: own, Change: clients.Change{Name: name}})
		r.add(own, rewrittenName{name, name})
	}
	files, err := clients.Find(clients.Machine{OS: runtime.GOOS, Home: home, Getenv: h.Getenv})
	if err != nil {
		return r, nil, err
	}
	paths, unread := workspace.RewrittenFiles(h)
	if unread != nil {
		failed = append(failed, unread)
	}
	for _, path := range paths {
		f := clients.FileAt(path)
		known := slices.ContainsFunc(files, func(o clients.File) bool { return o.Path == path })
		if !known && (named || f.Root == "") { // the file of a project is its own, unless the server is named
			files = append(files, f)
		}
	}
	for _, f := range files {
		kept, err := clients.LoadOriginals(f.Path)
		if err != nil && !slices.Contains(r.unread, f.Path) {
			r.unread = append(r.unread, f.Path)
			failed = append(failed, unknownOriginals(f.Path, err))
		}
		servers, _ := clients.Load(f) // Unpin says why they cannot be read
		for _, o := range slices.Concat(kept, locked) {
			if o.Project == "" || o.Added != "" {
				continue
			}
			for _, x := range namesOf(o, servers) {
				if !slices.Contains(r.names[o.Project], x) {
					r.add(o.Project, x)
				}
			}
		}
	}
	return r, failed, nil
}

// unknownOriginals says that the originals of a client's file cannot be read.
func unknownOriginals(path string, err error) error {
	return evidence.Errorf(evidence.Validation, path, "bring back a copy of "+clients.OriginalsPath(path)+
		"; or write by hand what the entries are to start, and remove it",
		fmt.Errorf("what its entries were is not known: %w", err))
}

// namesOf returns what the entries are called that start the server of an original: its own, and what its client
// renamed or copied that to.
func namesOf(o clients.Original, servers []clients.Server) []rewrittenName {
	names := []rewrittenName{{o.Name, o.ServerName()}}
	for _, s := range servers {
		if !clients.IsRunEntry(s) {
			continue
		}
		line, _ := clients.ReadRunLine(s.Args[1:], false)
		if line.Project == o.Project && line.Name == o.ServerName() {
			names = append(names, rewrittenName{s.Name, line.Name})
		}
	}
	return names
}
