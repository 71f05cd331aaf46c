package hallmark

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
	"syscall"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/project"
)

// workspace is a project on this machine: its files, and what the state directory
// holds about it.
type workspace struct {
	host      *Host
	dir       string // absolute, all links resolved
	state     string // this project's directory in the state directory
	text      []byte // of hallmark.toml; nil if there is none
	config    *project.Config
	lock      *project.Lock
	approvals *project.Approvals
	release   func() // lets writers in again
	named     string // a host that the caller named, "" for none: see mayAsk

	logOptions LogOptions
	log        *registryLog // of the registry; nil if it has none, or before logRead
	logRead    bool

	logsOnce sync.Once // guards what follows
	logs     *project.Logs
	logsErr  error

	lockedLogs sync.Map // by name of a registry: a func() (*lockedLog, error)

	shownOnce sync.Once    // guards what follows
	shown     *registryLog // the log that the registry shows, where nobody said which key it has
	shownErr  error
	showing   sync.Mutex // one at a time talks with it
}

// knownLogs is what this machine knows of logs, read once: each of their checkpoints is
// verified as it is read.
func (w *workspace) knownLogs() (*project.Logs, error) {
	w.logsOnce.Do(func() { w.logs, w.logsErr = w.host.logs() })
	return w.logs, w.logsErr
}

// openWorkspace reads the project in dir, whose files nobody changes until done or
// w.release is called. With write the project stays locked against other writers until
// done. A change that was interrupted is finished first, so that the files read belong
// together.
//
// There are two locks, because a writer works for minutes and changes files for
// milliseconds: "writer" is held by whoever is going to change the project, "files" by
// whoever reads its files or replaces them.
func openWorkspace(ctx context.Context, h *Host, dir string, write bool) (w *workspace, done func(), err error) {
	return openProject(ctx, h, dir, write, false)
}

// openProject is openWorkspace that can begin a project: with begin a missing
// hallmark.toml is read as an empty one.
func openProject(ctx context.Context, h *Host, dir string, write, begin bool) (w *workspace, done func(), err error) {
	w = &workspace{host: h, release: func() {}}
	if w.dir, err = filepath.Abs(dir); err != nil {
		return nil, nil, err
	}
	if w.dir, err = filepath.EvalSymlinks(w.dir); errors.Is(err, fs.ErrNotExist) {
		return nil, nil, evidence.Errorf(evidence.Validation, dir, "name the project's directory with --project", errors.New("there is no such directory"))
	} else if err != nil {
		return nil, nil, err
	}
	if h.Dir != dir { // its files are no programs of ours, wherever this is called
		mine := *h
		mine.Dir = w.dir
		w.host = &mine
	}
	w.state = h.projectState(w.dir)
	if _, err := os.Lstat(w.path(project.ConfigFile)); errors.Is(err, fs.ErrNotExist) && !begin {
		return nil, nil, w.noConfig()
	}
	done = func() { w.release() }
	if err := os.MkdirAll(w.state, 0o700); err != nil {
		if write || !unwritable(err) {
			return nil, nil, err
		}
		return w, done, w.read() // nobody on this machine can write here either
	}
	if write {
		unlock, err := w.wait(ctx, "writer", "another change of "+w.dir)
		if err != nil {
			return nil, nil, err
		}
		done = func() { w.release(); unlock() }
	}
	if err := w.hold(ctx); err != nil && (write || !unwritable(err)) {
		done()
		return nil, nil, err
	}
	if err := w.read(); err != nil {
		done()
		return nil, nil, err
	}
	if write {
		w.release()
	}
	return w, done, nil
}

// projectState is where this machine keeps what it knows of the project in dir.
func (h *Host) projectState(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return filepath.Join(h.Places.State, "projects", hex.EncodeToString(sum[:8]))
}

func unwritable(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)
}

// wait takes a lock of the project, and says so if somebody else holds it.
func (w *workspace) wait(ctx context.Context, name, what string) (unlock func(), err error) {
	return w.host.lock(ctx, filepath.Join(w.state, name), what, 0)
}

// hold keeps the project's files as they are until w.release.
func (w *workspace) hold(ctx context.Context) error {
	unlock, err := w.wait(ctx, "files", "a replacement of the files of "+w.dir)
	if err != nil {
		return err
	}
	w.release = sync.OnceFunc(unlock)
	finished, err := durable.Recover(w.journal())
	if finished {
		w.host.Logger.Warn("finished an interrupted change of " + w.dir)
	}
	return err
}

// replace changes several files of the project and of its state, all or none.
func (w *workspace) replace(ctx context.Context, files []durable.File) error {
	if err := w.hold(ctx); err != nil {
		return err
	}
	defer w.release()
	for _, f := range files {
		if err := w.plain(filepath.Dir(f.Path)); err != nil {
			return err
		}
		if f.Remove {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(f.Path), 0o777); err != nil {
			return err
		}
	}
	return durable.Replace(w.journal(), files)
}

// plain refuses a directory of the project that is a link, or lies below one: a checkout
// must not choose which files elsewhere are read, replaced or removed.
func (w *workspace) plain(dir string) error {
	rel, err := filepath.Rel(w.dir, dir)
	if err != nil || rel == "." || !filepath.IsLocal(rel) {
		return nil // not of the project
	}
	at := w.dir
	for name := range strings.SplitSeq(rel, string(filepath.Separator)) {
		at = filepath.Join(at, name)
		info, err := os.Lstat(at)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || !info.IsDir() {
			return evidence.Errorf(evidence.Refused, at, "", errors.Join(err, errors.New("is not a plain directory")))
		}
	}
	return nil
}

// stored reads a file of a directory of the project; a missing one gives nil.
func (w *workspace) stored(path string, limit int64) ([]byte, error) {
	if err := w.plain(filepath.Dir(path)); err != nil {
		return nil, err
	}
	return readPlain(path, limit)
}

// readPlain is readFile of a file that belongs to a project: a link is refused, as it would
// choose a file elsewhere to be read, and to be replaced by one of the project; and so is
// what is no file, which may never end.
func readPlain(path string, limit int64) ([]byte, error) {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		hint := ""
		if to, err := os.Readlink(path); err == nil {
			hint = fmt.Sprintf("it is a link to %+q; put the file itself there", to)
		}
		return nil, evidence.Errorf(evidence.Refused, path, hint, errors.New("is not a regular file"))
	}
	return readFile(path, limit)
}

func (w *workspace) path(names ...string) string {
	return filepath.Join(append([]string{w.dir}, names...)...)
}
func (w *workspace) journal() string           { return filepath.Join(w.state, "journal") }
func (w *workspace) approvalsPath() string     { return filepath.Join(w.state, "approvals.json") }
func (w *workspace) driftPath(n string) string { return filepath.Join(w.state, "drift-"+n+".json") }
func (w *workspace) surfacePath(n string) string {
	return w.path(project.SurfacesDir, n+".json")
}
func (w *workspace) closurePath(n string) string {
	return w.path(project.ClosuresDir, n+".json")
}

// read reads the project's files at the same time. Of what is wrong with several of them
// the first in the order hallmark.toml, lock, approvals is reported.
func (w *workspace) read() error {
	var (
		others            sync.WaitGroup
		locked, approvals error
	)
	others.Go(func() { locked = w.readLock() })
	others.Go(func() { approvals = w.readApprovals() })
	err := w.readConfig()
	others.Wait()
	return cmp.Or(err, locked, approvals)
}

func (w *workspace) readConfig() error {
	data, err := readPlain(w.path(project.ConfigFile), project.MaxConfig)
	if err != nil {
		return err
	}
	if w.text = data; data == nil {
		data = []byte(project.EmptyConfig)
	}
	if w.config, err = project.ParseConfig(data); err != nil {
		return err
	}
	for _, warning := range w.config.Warnings {
		w.host.Logger.Warn(warning)
	}
	return nil
}

func (w *workspace) readLock() error {
	w.lock = &project.Lock{}
	data, err := readPlain(w.path(project.LockFile), project.MaxLock)
	if data == nil || err != nil {
		return err
	}
	w.lock, err = project.ParseLock(data)
	return err
}

func (w *workspace) readApprovals() error {
	data, err := readFile(w.approvalsPath(), project.MaxApprovals)
	if err != nil {
		return err
	}
	if w.approvals, err = project.ParseApprovals(data, w.dir); err != nil {
		return &evidence.Error{
			Subject: w.approvalsPath(), Kind: evidence.Validation, Err: err,
			Hint: "restore it from a backup; if it is removed this machine forgets what it approved, installed and misses in " + w.dir + " until 'hallmark review' approves the servers again",
		}
	}
	return nil
}

// server finds the declaration of name.
func (w *workspace) server(name string) (project.Server, error) {
	s, ok := w.lockedServer(name)
	if mine := w.config.Servers[name]; !ok && mine.Facet != "" {
		return s, evidence.Errorf(evidence.Validation, fmt.Sprintf("%+q", name), "run 'hallmark install'",
			fmt.Errorf("is not locked as a server of the facet %+q", mine.Facet))
	}
	if !ok {
		return s, project.NoSuch("server", project.ConfigFile, name, w.serverNames())
	}
	return s, nil
}

// serverNames are those of the servers that hallmark.toml declares, or the lock has.
func (w *workspace) serverNames() []string {
	return slices.AppendSeq(w.lock.Servers(), maps.Keys(w.config.Servers))
}

// facetNames are those of the facets that hallmark.toml declares.
func (w *workspace) facetNames() []string { return slices.Collect(maps.Keys(w.config.Facets)) }

// drift is what a guard noted about the entry of name, or nil. A note about another
// surface than the locked one is out of date.
func (w *workspace) drift(name string, entry project.ServerLock) (*project.DriftNote, error) {
	data, err := readFile(w.driftPath(name), project.MaxDrift)
	if data == nil || err != nil {
		return nil, err
	}
	n, err := project.ParseDrift(data)
	if err == nil && n.Server != name {
		err = errors.New("is about another server")
	}
	if err != nil {
		return nil, evidence.Errorf(evidence.Validation, w.driftPath(name), "remove the file; the next run notes drift again", err)
	}
	if !evidence.Same(n.Locked, entry.Surface) {
		return nil, nil
	}
	return n, nil
}
