// Package local opens a server that is a program on this disk, and finds and hashes the code that it
// reads: the program, the script and files that its arguments name, the modules that a script imports
// (JavaScript, Python), the jars of a class path, and installed packages. A file is an artifact of
// the lock under its path relative to the project; a directory of packages is one artifact, with
// the fingerprint hallmark-tree-v1.
//
// A file that was edited since it was locked is a mismatch. A file that was added is refused as
// unknown. What cannot be bounded (more than 4096 files, 256 MiB or 32 directories deep) is an
// error, and what code computes at run time is reported as not covered.
package local

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/program"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/project"
)

// readSet is what a local program may read as code besides itself, by keys of the lock: finders
// add the files and trees, and addEvidence hashes each once and compares it with the lock. A file
// that was edited is a mismatch, one that was added is part of no fingerprint.
type readSet struct {
	w          *workspace.Workspace
	p          *program.Program
	arguments  []string           // arguments that may name files
	algorithms []digest.Algorithm // that a verify block compares, besides SHA-256

	items       map[string]readItem
	taken       map[string]bool              // paths of files and trees that are in rows or need not be
	hashed      map[string]evidence.Observed // by path, without links
	walked      map[string]bool              // directories of modules that *.pth files add
	tried       map[string]bool              // paths that code names in quotes
	count       int                          // of files that the program finds by itself
	bytes       int64                        // of those
	entriesSeen int                          // entries of directories
	unknown     []string                     // why it may load more than is found
}

// readItem is one file or one directory of code.
type readItem struct {
	path  string // absolute
	kind  *treeKind
	named bool // by an argument; what is not, the program finds by itself
}

// finder adds what a program reads for one reason. What it cannot bound is an error.
type finder func(*readSet) error

// Bounds of what a program finds by itself, hashed at each start.
const (
	maxFound      = 4096      // files, one artifact each
	maxFoundBytes = 256 << 20 // all of them
	maxFoundDepth = 32        // directories
	maxEntries    = 1 << 17   // of directories that are looked into
	maxUnknown    = 8         // reasons why there may be more
)

// addFile takes a file that the program finds by itself, unless it is none, and reports whether it
// is one that was not taken before.
func (r *readSet) addFile(path string) (fresh bool, err error) {
	if r.taken[path] {
		return false, nil
	}
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return false, nil // nothing is loaded from it as it is; once it can be, it is one more
	}
	r.taken[path] = true
	if r.count, r.bytes = r.count+1, r.bytes+info.Size(); r.count > maxFound || r.bytes > maxFoundBytes {
		return false, fmt.Errorf("the script may load more than %d files or %d bytes beside it", maxFound,
			maxFoundBytes)
	}
	r.addItem(r.w.LockKey(path, relativePath(r.w, path)), readItem{path: path})
	return true, nil
}

// listDir lists a directory, depth below where it began to look.
func (r *readSet) listDir(dir string, depth int) ([]os.DirEntry, error) {
	if depth > maxFoundDepth {
		return nil, fmt.Errorf("%s lies more than %d directories below the script", dir, maxFoundDepth)
	}
	entries, err := os.ReadDir(dir)
	if r.entriesSeen += len(entries); err == nil && r.entriesSeen > maxEntries {
		err = fmt.Errorf("there are more than %d files where the script may load from", maxEntries)
	}
	return entries, err
}

// addItem takes what a key stands for; whatever an argument names is the argument's.
func (r *readSet) addItem(key string, row readItem) {
	if _, ok := r.items[key]; !ok {
		r.items[key] = row
	}
}

// noteUnknown notes why a program may load more than is found; of many reasons the first ones.
func (r *readSet) noteUnknown(why string) {
	if len(r.unknown) < maxUnknown && !slices.Contains(r.unknown, why) {
		r.unknown = append(r.unknown, why)
	}
}

// hashItem hashes a file or a directory; a file that was hashed before is not read again.
func (r *readSet) hashItem(ctx context.Context, row readItem) (evidence.Observed, error) {
	if row.kind != nil {
		return hashTree(ctx, row.path, row.kind)
	}
	real := host.RealPath(row.path)
	o, ok := r.hashed[real]
	if !ok {
		var err error
		if o, err = program.HashFile(row.path, r.algorithms...); err != nil {
			return o, err
		}
		r.hashed[real] = o
	}
	o.From = row.path
	return o, nil
}

// addEvidence hashes all rows for the lock, and compares them with it. locked may be nil. Once
// something is locked, what it does not name is refused: it was not there when a person looked.
func (r *readSet) addEvidence(ctx context.Context, locked *project.ServerLock) error {
	p := r.p
	for _, key := range slices.Sorted(maps.Keys(r.items)) {
		row := r.items[key]
		o, err := r.hashItem(ctx, row)
		if err != nil {
			return evidence.Errorf(evidence.ClassOf(err), p.Server, "", err)
		}
		p.Artifacts[key] = o.SHA256()
		c := evidence.Claim{Subject: key, Scheme: evidence.File, Authority: evidence.Lock, Where: project.LockFile}
		if row.kind != nil {
			c.Scheme = evidence.Tree
		}
		known := false
		if locked != nil {
			var want digest.Digest
			if want, known = locked.Artifacts[key]; known {
				c.Want = []digest.Digest{want}
			}
		}
		if locked == nil || known || row.named {
			p.AddSubject(c, o)
			if e := &p.Report[len(p.Report)-1]; known && row.kind != nil {
				e.Fix = "these are not the packages that were locked: install them again, or 'hallmark pin " +
					p.Server + "' if you did"
			}
			continue
		}
		c.Scheme, c.Text = evidence.Unhashed, "nothing but what was pinned that "+p.OwnKey+" may load"
		e := evidence.Fact(c, key)
		e.Fix = "if it is not yours remove it, and find out who put it there; else 'hallmark pin " + p.Server +
			"' shows it and locks it"
		p.Report = append(p.Report, e)
	}
	return nil
}

// open opens what a command line runs, with what finders find that it reads besides.
func (c command) open(ctx context.Context, finders ...finder) (p *program.Program, err error) {
	w, s, locked := c.workspace, c.declared, c.locked
	p, r, err := c.begin()
	defer func() {
		if err != nil {
			p.Close()
		}
	}()
	if err != nil {
		return p, err
	}
	for _, find := range finders {
		if err := find(r); err != nil {
			if classified := (*evidence.Error)(nil); errors.As(err, &classified) {
				return p, err
			}
			return p, evidence.Errorf(evidence.Refused, s.Name,
				"give the script a directory of its own; of python, '-P' before it loads nothing from there", err)
		}
	}
	if err := r.addEvidence(ctx, locked); err != nil {
		return p, err
	}
	p.Report = append(p.Report, startedFileEvidence(p, locked)...)
	p.Report = append(p.Report, program.VerifyEvidence(w, s, c.approval.Path, p.Executable.Path(), r.hashed)...)
	for _, why := range r.unknown {
		p.Report = append(p.Report, evidence.CannotVerify(evidence.Claim{
			Subject: p.OwnKey, Scheme: evidence.Import, Authority: evidence.Lock, Where: project.LockFile,
		}, evidence.Unsupported, why))
	}
	return p, nil
}

// OpenNamed opens what a declared command line names, without what its script finds by itself: no
// lock says what that was. locked may be nil. Of approval it uses the path that is searched, and
// the runtime that was approved, nil for none.
func OpenNamed(ctx context.Context, w *workspace.Workspace, s project.Server, locked *project.ServerLock,
	approval project.Approval) (*program.Program, error) {
	return command{w, s, locked, approval}.open(ctx, findNamedFiles)
}

// OpenLocked opens what a declared command line names, and all that it may read. locked may be nil,
// and approval is used as [OpenNamed] does.
func OpenLocked(ctx context.Context, w *workspace.Workspace, s project.Server, locked *project.ServerLock,
	approval project.Approval) (*program.Program, error) {
	return command{w, s, locked, approval}.open(ctx, findNamedFiles, findLoadedFiles)
}

// relativePath names what lies outside the project by the way there, which is the same wherever the
// directories around the project are.
func relativePath(w *workspace.Workspace, file string) string {
	rel, err := filepath.Rel(w.Dir, file)
	if err != nil {
		return file
	}
	return filepath.ToSlash(rel)
}
