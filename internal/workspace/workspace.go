// Package workspace opens, locks and replaces the files of a project, and reads what this machine
// remembers about it.
//
// The state directory has a directory for each project: approvals.json, drift-NAME.json for each
// server that drifted, a journal of the change in progress, and two lock files.
//
// # Edits of hallmark.toml
//
// A command edits the text of the file: it changes what it sets or removes, and keeps comments, order and
// spacing ([SetFacet], [AddServers] …). Each result is parsed, and an edit that changes anything else is
// refused. The edits do no I/O.
//
// # Advisories
//
// hallmark.toml may name databases of what is known against versions of packages. An [AdvisoryDatabase] is
// opened once and asked about all packages of the lock.
//
// # Entries of the lock
//
// An entry of hallmark.lock is compared with what surrounds it: the declaration that it was pinned
// for, the files beside the lock, the approval that this machine keeps, and what the user waived. Whatever starts,
// reviews or checks a server asks it for evidence; it judges nothing and starts nothing.
package workspace

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/git"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/machine"
	"github.com/hallmark-mcp/hallmark/internal/owed"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/project"
)

// LockedServer returns a server that a facet declares, as it was locked. Settings that
// hallmark.toml adds to it are the present ones.
func (w *Workspace) LockedServer(name string) (project.Server, bool) {
	mine, declared := w.Config.Servers[name]
	if declared && mine.Facet == "" {
		return mine, true
	}
	entry, ok := w.Lock.Server(name)
	if !ok || entry.Launch.Facet == "" || declared && mine.Facet != entry.Launch.Facet {
		return project.Server{}, false
	}
	if _, ok := w.Lock.Facet(entry.Launch.Facet); !ok {
		return project.Server{}, false
	}
	l := entry.Launch
	s := project.Server{
		Name: name, Type: "stdio", Command: l.Command, Arguments: l.Arguments, Source: l.Source, Facet: l.Facet,
		Environment: l.Environment,
	}
	if declared {
		s.Line, s.OnDrift, s.Kinds, s.Variables, s.Requests = mine.Line, mine.OnDrift, mine.Kinds, mine.Variables,
			mine.Requests
	} else {
		// A server without a table in hallmark.toml has the defaults.
		s.OnDrift, s.Requests = "withhold", "allow"
	}
	return s, true
}

// LockableServers returns the servers that hallmark.toml declares, and those that facets declare and
// that are locked, by name.
func (w *Workspace) LockableServers() (all []project.Server) {
	names := w.ServerNames()
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if s, ok := w.LockedServer(name); ok {
			all = append(all, s)
		}
	}
	return all
}

// MaxSurface bounds a file of hallmark.surfaces, in bytes.
const MaxSurface = 256 << 20

// Workspace is a project on this machine: its files, and what the state directory holds about it.
type Workspace struct {
	Host         *host.Host
	Dir          string // absolute, all links resolved
	State        string // this project's directory in the state directory
	Home         string // of the project of the user's own clients: the home directory; "" of another project
	Text         []byte // of hallmark.toml; nil if there is none
	Config       *project.Config
	Lock         *project.Lock
	Approvals    *project.Approvals
	Release      func()     // lets writers in again
	Repositories git.Shared // until the workspace is closed

	NamedHost string // a host that the caller named, "" for none: see mayAsk

	advisories advisories
	cutoff     sync.Once // see Cutoff
	now        time.Time

	lockRead, approvalsRead []byte             // the files as they were read; nil if there are none
	inherited               *project.Approvals // taken over from the main work tree, as there is no file; else nil
}

// Logs returns the logs that a command with these options relies on for the project.
func (w *Workspace) Logs(o trail.Options) *trail.Logs {
	return trail.NewLogs(w.Host, w.Registry(), w.Config.Registry, o)
}

// Demands returns what is owed in this project, by its files and by what this machine remembers,
// also about logs.
func (w *Workspace) Demands(logs *trail.Logs) (owed.Demands, error) {
	known, err := logs.ReadKnown()
	demands := owed.New(w.Config, w.Lock, w.Approvals, known)
	demands.LogKey = logs.GivenKey()
	return demands, err
}

// Open reads the project in dir, and keeps its files locked against changes until done or w.release
// is called. With write it locks out other writers until done. It first finishes a change that was
// interrupted, so that the files that it reads belong together.
//
// There are two locks, because a writer works for minutes and changes files for milliseconds:
// a command that is going to change the project holds "writer"; one that reads or replaces its files holds
// "files".
func Open(ctx context.Context, h *host.Host, dir string, write bool) (w *Workspace, done func(), err error) {
	return OpenOrBegin(ctx, h, dir, write, false)
}

// OpenOrBegin is Open that can begin a project: with begin it reads a missing hallmark.toml as an
// empty one.
func OpenOrBegin(ctx context.Context, h *host.Host, dir string, write, begin bool) (w *Workspace, done func(),
	err error) {
	if w, err = find(h, dir, begin); err != nil {
		return nil, nil, err
	}
	closeAll := func() { w.Release(); w.advisories.close(); w.Repositories.Close() }
	done = closeAll
	if err := os.MkdirAll(w.State, 0o700); err != nil {
		if write || !host.IsUnwritable(err) {
			return nil, nil, err
		}
		return w, done, w.ReadFiles() // nobody on this machine can write here either
	}
	if write {
		unlock, err := w.waitForLock(ctx, "writer", "another change of "+w.Dir)
		if err != nil {
			return nil, nil, err
		}
		done = func() { closeAll(); unlock() }
	}
	if err := w.HoldFiles(ctx); err != nil && (write || !host.IsUnwritable(err)) {
		done()
		return nil, nil, err
	}
	if err := w.ReadFiles(); err != nil {
		done()
		return nil, nil, err
	}
	if write {
		w.Release()
	}
	return w, done, nil
}

// OpenMerge returns the workspace of the project in dir, in whose files version control left conflicts: none is read.
// It locks out other writers until done.
func OpenMerge(ctx context.Context, h *host.Host, dir string) (w *Workspace, done func(), err error) {
	if w, err = find(h, dir, true); err != nil {
		return nil, nil, err
	}
	if err := os.MkdirAll(w.State, 0o700); err != nil {
		return nil, nil, err
	}
	w.Lock = &project.Lock{}
	done, err = w.waitForLock(ctx, "writer", "another change of "+w.Dir)
	return w, done, err
}

// find returns the workspace of the project in dir, of which no file is read yet.
func find(h *host.Host, dir string, begin bool) (w *Workspace, err error) {
	w = &Workspace{Host: h, Release: func() {}}
	if w.Dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	if w.Dir, err = filepath.EvalSymlinks(w.Dir); errors.Is(err, fs.ErrNotExist) {
		return nil, evidence.Errorf(evidence.Validation, dir, "name the project's directory with --project",
			errors.New("there is no such directory"))
	} else if err != nil {
		return nil, err
	}
	if h.Dir != dir { // its files are no programs of ours, wherever this is called
		mine := *h
		mine.Dir = w.Dir
		w.Host = &mine
	}
	if w.Home, err = homeOf(h, w.Dir); err != nil {
		return nil, err
	}
	w.State = ProjectState(h, w.Dir)
	if _, err := os.Lstat(w.Path(project.ConfigFile)); errors.Is(err, fs.ErrNotExist) && !begin {
		return nil, w.missingConfig()
	}
	if w.Home != "" { // of the user's own clients, beside whose project our files may lie
		return w, nil
	}
	return w, h.Places.CheckProject(w.Dir)
}

// ProjectState returns the directory for what this machine remembers about the project in dir.
func ProjectState(h *host.Host, dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return filepath.Join(h.Places.State, "projects", hex.EncodeToString(sum[:8]))
}

// waitForLock takes a lock of the project. It tells the user if another process holds the lock.
func (w *Workspace) waitForLock(ctx context.Context, name, what string) (unlock func(), err error) {
	return w.Host.Lock(ctx, filepath.Join(w.State, name), what, 0)
}

// HoldFiles locks the project's files against changes until w.release.
func (w *Workspace) HoldFiles(ctx context.Context) error {
	unlock, err := w.waitForLock(ctx, "files", "a replacement of the files of "+w.Dir)
	if err != nil {
		return err
	}
	w.Release = sync.OnceFunc(unlock)
	finished, err := durable.Recover(w.journal())
	if finished {
		w.Host.Logger.Warn("finished an interrupted change of " + w.Dir)
	}
	return err
}

// Replace changes several files of the project and of its state, all or none.
func (w *Workspace) Replace(ctx context.Context, files []durable.File) error {
	if err := w.HoldFiles(ctx); err != nil {
		return err
	}
	defer w.Release()
	var made []string
	err := func() error {
		for _, f := range files {
			if err := w.RefuseLink(filepath.Dir(f.Path)); err != nil {
				return err
			}
			if f.Remove {
				continue
			}
			made = append(made, missingDirs(filepath.Dir(f.Path))...)
			if err := os.MkdirAll(filepath.Dir(f.Path), 0o777); err != nil {
				return err
			}
		}
		return durable.Replace(w.journal(), files)
	}()
	if _, begun := os.Lstat(w.journal()); err != nil && begun != nil { // else the next command finishes the change
		for _, dir := range slices.Backward(made) {
			os.Remove(dir) // unless something is in it
		}
	}
	return err
}

// missingDirs are a directory and those above it that do not exist, from above.
func missingDirs(dir string) (missing []string) {
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		missing = append(missing, dir)
	}
	slices.Reverse(missing)
	return missing
}

// RefuseLink refuses a directory of the project that is a link, or lies below one: a checkout
// must not choose which files elsewhere are read, replaced or removed.
func (w *Workspace) RefuseLink(dir string) error {
	at := w.Dir
	rel, err := filepath.Rel(at, dir)
	if w.Home != "" && (err != nil || !filepath.IsLocal(rel)) {
		at = w.Home
		rel, err = filepath.Rel(at, dir)
	}
	if err != nil || rel == "." || !filepath.IsLocal(rel) {
		return nil // not of the project
	}
	for name := range strings.SplitSeq(rel, string(filepath.Separator)) {
		at = filepath.Join(at, name)
		info, err := os.Lstat(at)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || !info.IsDir() {
			return evidence.Errorf(evidence.Refused, at, "put a directory in its place, or remove it, and run the "+
				"command again: nothing is read or written through it",
				errors.Join(err, errors.New("is not a plain directory")))
		}
	}
	return nil
}

// ReadFile reads a file of a directory of the project; a missing one gives nil.
func (w *Workspace) ReadFile(path string, limit int64) ([]byte, error) {
	if err := w.RefuseLink(filepath.Dir(path)); err != nil {
		return nil, err
	}
	return ReadPlain(path, limit)
}

// ReadPlain reads a file of a project like [Workspace.ReadFile]. It refuses a link, which would let
// the checkout choose a file elsewhere to be read or replaced, and anything but a regular file,
// because reading a pipe may never end.
func ReadPlain(path string, limit int64) ([]byte, error) {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		hint := ""
		if to, err := os.Readlink(path); err == nil {
			hint = fmt.Sprintf("it is a link to %+q; put the file itself there", to)
		}
		return nil, evidence.Errorf(evidence.Refused, path, hint, errors.New("is not a regular file"))
	}
	return host.ReadFile(path, limit)
}

// Path joins names to the project's directory.
func (w *Workspace) Path(names ...string) string {
	return filepath.Join(append([]string{w.Dir}, names...)...)
}

// RunArguments are the arguments of an entry of a user's own client, which starts the server from wherever it
// is and may withhold the environment of this process: they name all that hallmark run needs.
func (w *Workspace) RunArguments(name string) []string {
	return append([]string{"run", name, "--project", w.Dir}, w.Host.Places.Arguments()...)
}

func (w *Workspace) journal() string { return filepath.Join(w.State, "journal") }

// ApprovalsPath returns the path of this machine's approvals.
func (w *Workspace) ApprovalsPath() string { return filepath.Join(w.State, "approvals.json") }

// DriftPath returns the path on this machine of what server n showed without approval.
func (w *Workspace) DriftPath(n string) string { return filepath.Join(w.State, "drift-"+n+".json") }

// SurfacePath returns the path in the project of the approved surface of server n.
func (w *Workspace) SurfacePath(n string) string {
	return w.Path(project.SurfacesDir, n+".json")
}

// ClosurePath returns the path in the project of the locked closure of server n.
func (w *Workspace) ClosurePath(n string) string {
	return w.Path(project.ClosuresDir, n+".json")
}

// ReadFiles reads the project's files concurrently. If several are invalid it reports the first in
// the order hallmark.toml, lock, approvals.
func (w *Workspace) ReadFiles() error {
	var (
		others            sync.WaitGroup
		locked, approvals error
	)
	others.Go(func() { locked = w.readLock() })
	others.Go(func() { approvals = w.ReadApprovals() })
	err := w.readConfig()
	others.Wait()
	if err = cmp.Or(err, locked, approvals); err == nil {
		w.inheritApprovals()
	}
	return err
}

func (w *Workspace) readConfig() error {
	data, err := ReadPlain(w.Path(project.ConfigFile), project.MaxConfig)
	if err != nil {
		return err
	}
	if w.Text = data; data == nil {
		data = []byte(project.EmptyConfig)
	}
	if w.Config, err = project.ParseConfig(data); err != nil {
		return err
	}
	for _, warning := range w.Config.Warnings {
		w.Host.Logger.Warn(warning)
	}
	return nil
}

func (w *Workspace) readLock() error {
	w.Lock = &project.Lock{}
	data, err := ReadPlain(w.Path(project.LockFile), project.MaxLock)
	if w.lockRead = data; data == nil || err != nil {
		return err
	}
	w.Lock, err = project.ParseLock(data)
	return err
}

// ReadApprovals reads this machine's approvals into w.
func (w *Workspace) ReadApprovals() error {
	data, err := host.ReadFile(w.ApprovalsPath(), project.MaxApprovals)
	if err != nil {
		return err
	}
	w.approvalsRead = data
	if w.Approvals, err = project.ParseApprovals(data, w.Dir); err != nil {
		return &evidence.Error{
			Subject: w.ApprovalsPath(), Kind: evidence.Validation, Err: err,
			Hint: "restore it from a backup; if it is removed this machine forgets what it approved, installed and " +
				"misses in " + w.Dir + " until 'hallmark review' approves the servers again",
		}
	}
	return nil
}

// Cutoff returns when a version must have been published to be old enough for min_age of [policy]; zero if there is no
// such rule.
func (w *Workspace) Cutoff() time.Time {
	if w.Config.Policy.MinAge == 0 {
		return time.Time{}
	}
	// The same for all questions: what is asked twice has one answer.
	w.cutoff.Do(func() { w.now = w.Host.Now() })
	return w.now.Add(-w.Config.Policy.MinAge)
}

// Server finds the declaration of name.
func (w *Workspace) Server(name string) (project.Server, error) {
	s, ok := w.LockedServer(name)
	if of := w.declaringFacet(name); !ok && of != "" {
		return s, evidence.Errorf(evidence.Validation, fmt.Sprintf("%+q", name), "run 'hallmark install'",
			fmt.Errorf("is not locked as a server of the facet %+q", of))
	}
	if !ok {
		return s, project.NoSuch("server", project.ConfigFile, name, w.ServerNames())
	}
	if s.Facet != "" && !w.Config.Facets[s.Facet].WantsServer(name) {
		return s, evidence.Errorf(evidence.Refused, name, "run 'hallmark install', which takes it away, or take it "+
			"into 'parts' again",
			fmt.Errorf("is left out, by 'parts' of %s", project.ConfigFile))
	}
	return s, nil
}

// declaringFacet returns which facet of the project declares a server, by hallmark.toml or by what was accepted on
// this machine; "" if none is known to.
func (w *Workspace) declaringFacet(name string) string {
	if mine := w.Config.Servers[name]; mine.Facet != "" {
		return mine.Facet
	}
	for _, of := range slices.Sorted(maps.Keys(w.Config.Facets)) {
		if slices.Contains(w.Approvals.Facets[of].Servers, name) {
			return of
		}
	}
	return ""
}

// ServerNames returns the names of the servers that hallmark.toml declares or the lock holds.
func (w *Workspace) ServerNames() []string {
	return slices.AppendSeq(w.Lock.Servers(), maps.Keys(w.Config.Servers))
}

// ServerEntry is what hints name of evidence about a server: nothing if commands do not find it by its name.
func (w *Workspace) ServerEntry(name string) evidence.Entry {
	if _, err := w.Server(name); err != nil {
		return evidence.Entry{}
	}
	return evidence.Entry{Server: name}
}

// FacetEntry is what hints name of evidence about a facet: nothing if another one brings it along.
func (w *Workspace) FacetEntry(name string) evidence.Entry {
	if _, declared := w.Config.Facets[name]; !declared {
		return evidence.Entry{}
	}
	return evidence.Entry{Facet: name}
}

// FacetNames returns the names of the facets that hallmark.toml declares.
func (w *Workspace) FacetNames() []string { return slices.Collect(maps.Keys(w.Config.Facets)) }

// DriftNote returns what a guard noted about the entry of name, or nil. It ignores a note about
// another surface than the locked one, which is out of date.
func (w *Workspace) DriftNote(name string, entry project.ServerLock) (*machine.DriftNote, error) {
	data, err := host.ReadFile(w.DriftPath(name), machine.MaxDrift)
	if data == nil || err != nil {
		return nil, err
	}
	n, err := machine.ParseDrift(data)
	if err == nil && n.Server != name {
		err = errors.New("is about another server")
	}
	if err != nil {
		return nil, evidence.Errorf(evidence.Validation, w.DriftPath(name),
			"remove the file; the next run notes drift again", err)
	}
	if !evidence.Same(n.Locked, entry.Surface) {
		return nil, nil
	}
	return n, nil
}
