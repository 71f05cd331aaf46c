package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
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

// readSet is the code that a local program may read besides its executable, by keys of the lock. Finders
// add files and trees, and addEvidence hashes each once and compares it with the lock. A file that was
// edited is a mismatch; a file that was added has no digest to compare with.
type readSet struct {
	w          *workspace.Workspace
	p          *program.Program
	arguments  []string           // arguments that may name files
	algorithms []digest.Algorithm // that a verify block compares, besides SHA-256

	items       map[string]readItem
	taken       map[string]bool              // paths of files and trees that are in items or need not be
	hashed      map[string]evidence.Observed // by path with links resolved
	walked      map[string]bool              // directories of modules that *.pth files add
	tried       map[string]bool              // paths that code names in quotes, which were looked up
	count       int                          // of files that the program finds by itself
	bytes       int64                        // of these files
	entriesSeen int                          // of directories that were listed
	unknown     []string                     // reasons why it may load more than was found
}

// newReadSet returns the empty set of what p, which s declares, reads besides its executable.
func newReadSet(w *workspace.Workspace, p *program.Program, s project.Server) *readSet {
	executable := p.Executable.Path()
	return &readSet{
		w: w, p: p, arguments: s.Arguments, algorithms: s.Verify.Algorithms(), items: map[string]readItem{},
		walked: map[string]bool{}, tried: map[string]bool{}, taken: map[string]bool{executable: true},
		hashed: map[string]evidence.Observed{executable: p.Executable.Observed()},
	}
}

// readItem is one file or one directory of code.
type readItem struct {
	path  string // absolute
	kind  *treeKind
	named bool // an argument names it; else the program finds it by itself
}

// finder adds to a readSet what the program reads for one reason. It fails if that cannot be bounded.
type finder func(*readSet) error

// Bounds of what a program finds by itself, because it is hashed at each start.
const (
	maxFound      = 4096      // files, one artifact each
	maxFoundBytes = 256 << 20 // all of them
	maxFoundDepth = 32        // directories
	maxEntries    = 1 << 17   // of directories that are listed
	maxUnknown    = 8         // reasons why it may load more
)

// addFile adds a file that the program finds by itself, if it is regular. fresh reports whether it was not
// added before.
func (r *readSet) addFile(path string) (fresh bool, err error) {
	if r.taken[path] {
		return false, nil
	}
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return false, nil // nothing can be loaded from it; once that changes, it is refused as added
	}
	r.taken[path] = true
	if r.count, r.bytes = r.count+1, r.bytes+info.Size(); r.count > maxFound || r.bytes > maxFoundBytes {
		return false, fmt.Errorf("the script may load more than %d files or %d bytes beside it", maxFound,
			maxFoundBytes)
	}
	r.addItem(r.w.LockKey(path, relativePath(r.w, path)), readItem{path: path})
	return true, nil
}

// listDir lists a directory, which lies depth directories below that in which a finder began.
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

// addItem adds an item under its key. The first item stays: arguments are looked at before other finders.
func (r *readSet) addItem(key string, item readItem) {
	if _, ok := r.items[key]; !ok {
		r.items[key] = item
	}
}

// noteUnknown notes a reason why the program may load more than was found. It keeps the first maxUnknown.
func (r *readSet) noteUnknown(why string) {
	if len(r.unknown) < maxUnknown && !slices.Contains(r.unknown, why) {
		r.unknown = append(r.unknown, why)
	}
}

// hashItem hashes a file or a directory. It does not read a file again that was hashed before.
func (r *readSet) hashItem(ctx context.Context, item readItem) (evidence.Observed, error) {
	if item.kind != nil {
		return hashTree(ctx, item.path, item.kind)
	}
	real := host.RealPath(item.path)
	o, ok := r.hashed[real]
	if !ok {
		var err error
		if o, err = program.HashFile(item.path, r.algorithms...); err != nil {
			return o, err
		}
		r.hashed[real] = o
	}
	o.From = item.path
	return o, nil
}

// addEvidence hashes all items, and compares them with locked, which may be nil. If it is not, items that
// it does not name are refused: they did not exist when a person approved it.
func (r *readSet) addEvidence(ctx context.Context, locked *project.ServerLock) error {
	p := r.p
	for _, key := range slices.Sorted(maps.Keys(r.items)) {
		item := r.items[key]
		o, err := r.hashItem(ctx, item)
		if err != nil {
			return evidence.Errorf(evidence.ClassOf(err), p.Server, "", err)
		}
		p.Artifacts[key] = o.SHA256()
		c := evidence.Claim{Subject: key, Scheme: evidence.File, Authority: evidence.Lock, Where: project.LockFile}
		if item.kind != nil {
			c.Scheme = evidence.Tree
		}
		known := false
		if locked != nil {
			var want digest.Digest
			if want, known = locked.Artifacts[key]; known {
				c.Want = []digest.Digest{want}
			}
		}
		if locked == nil || known || item.named {
			p.AddSubject(c, o)
			if e := &p.Report[len(p.Report)-1]; known && item.kind != nil {
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

// relativePath returns the path of file relative to the project, also if it lies outside: such a path stays
// the same if the project is moved with the directories around it.
func relativePath(w *workspace.Workspace, file string) string {
	rel, err := filepath.Rel(w.Dir, file)
	if err != nil {
		return file
	}
	return filepath.ToSlash(rel)
}

// addTree adds a directory if it exists, and what the links in it lead to.
func (r *readSet) addTree(dir string, kind *treeKind) error {
	real, err := filepath.EvalSymlinks(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil || r.taken[real] {
		return err
	}
	if info, err := os.Stat(real); err != nil || !info.IsDir() {
		return err
	}
	r.taken[real] = true
	r.addItem(r.w.LockKey(real, relativePath(r.w, real)), readItem{path: real, kind: kind})
	_, outside, err := listTree(real, kind)
	if err != nil {
		return err
	}
	for _, target := range outside {
		info, err := os.Stat(target)
		if err != nil {
			return err
		}
		if !info.IsDir() {
			_, err = r.addFile(target)
		} else if err = r.addTree(target, kind); err == nil && kind.nested != "" {
			for dir := target; err == nil && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
				err = r.addTree(filepath.Join(dir, kind.nested), kind)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}
