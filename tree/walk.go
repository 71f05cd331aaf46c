package tree

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// Limits bounds what [Walk] reads. A zero field takes the default.
type Limits struct {
	Files int   // regular files, and also other entries; default 200,000
	Bytes int64 // sum of the sizes; default 8 GiB
	Depth int   // directories above a file; default 64
}

func (l Limits) orDefault() Limits {
	l.Files = cmp.Or(l.Files, 200_000)
	if l.Bytes == 0 {
		l.Bytes = 8 << 30
	}
	l.Depth = cmp.Or(l.Depth, 64)
	return l
}

// ErrTooLarge is wrapped by the error for a tree beyond its [Limits].
var ErrTooLarge = errors.New("tree too large")

// EntryError says that a tree holds something other than regular files and
// directories, or a name that no tree may hold.
type EntryError struct {
	Path string // as found, not escaped
	Kind string // what it is: "a symbolic link", "a named pipe", "a name that is not UTF-8"
}

// Error names the entry, and what it is in place of a regular file.
func (e *EntryError) Error() string {
	return fmt.Sprintf("%+q is %s; a tree holds regular files only", e.Path, e.Kind)
}

// Walk lists the regular files of fsys in byte order of their paths. The first
// entry that no tree may hold is an [EntryError].
func Walk(fsys fs.FS, limits Limits) ([]File, error) {
	files, refused, err := Scan(fsys, limits)
	if err != nil {
		return nil, err
	}
	if len(refused) > 0 {
		return nil, refused[0]
	}
	return files, nil
}

// Scan is [Walk] for a report: it does not stop at an entry that no tree may hold, but
// returns all of them, in byte order of their paths. Several directories are read at
// once: fsys must be safe for concurrent use.
func Scan(fsys fs.FS, limits Limits) (files []File, refused []*EntryError, err error) {
	w := &walker{fsys: fsys, limits: limits.orDefault()}
	err = w.walk()
	return w.files, w.refused, err
}

// walk walks all of fsys and sorts what was found.
func (w *walker) walk() error {
	w.spare = make(chan struct{}, runtime.GOMAXPROCS(0)-1)
	w.walkDir(".", 0)
	w.others.Wait()
	if w.err != nil {
		w.files, w.refused = nil, nil
		return w.err
	}
	slices.SortFunc(w.files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	slices.SortFunc(w.refused, func(a, b *EntryError) int { return strings.Compare(a.Path, b.Path) })
	return nil
}

type walker struct {
	fsys       fs.FS
	limits     Limits
	inspecting bool          // note directories and special modes too, see [Inspect]
	spare      chan struct{} // one element for each goroutine beside the first
	others     sync.WaitGroup

	mu       sync.Mutex // guards what follows
	err      error      // the first one; ends the walk
	files    []File
	refused  []*EntryError
	dirs     []string        // if inspecting
	unhashed []UnhashedEntry // if inspecting
	entries  int
	bytes    int64
}

// dirBatch is how many entries are read at once, so that a directory with
// millions of them meets the limit before it fills memory.
const dirBatch = 1024

// walkDir walks the directory name. It hands directories below it to other goroutines
// as long as fewer run than there are processors.
func (w *walker) walkDir(name string, depth int) {
	below, err := w.listDir(name, depth)
	if err != nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.err == nil {
			w.err = err
		}
		return
	}
	for _, path := range below {
		select {
		case w.spare <- struct{}{}:
			w.others.Go(func() {
				w.walkDir(path, depth+1)
				<-w.spare
			})
		default:
			w.walkDir(path, depth+1)
		}
	}
}

// listDir adds the entries of one directory to what was found and returns the directories
// among them: none if another goroutine has ended the walk.
func (w *walker) listDir(name string, depth int) (below []string, err error) {
	if depth > w.limits.Depth {
		return nil, fmt.Errorf("%w: %+q is more than %d directories deep", ErrTooLarge, name, w.limits.Depth)
	}
	f, err := w.fsys.Open(name)
	if err != nil {
		return nil, fmt.Errorf("list directory: %w", err)
	}
	defer f.Close()
	d, ok := f.(fs.ReadDirFile)
	if !ok {
		return nil, fmt.Errorf("list directory: %+q is not a directory", name)
	}
	for {
		entries, err := d.ReadDir(dirBatch)
		more, ended, takeErr := w.addEntries(name, entries)
		if takeErr != nil || ended {
			return nil, takeErr
		}
		below = append(below, more...)
		if err == io.EOF || err == nil && len(entries) == 0 {
			return below, nil
		}
		if err != nil {
			return nil, fmt.Errorf("list directory: %w", err)
		}
	}
}

// addEntries sorts entries of the directory dir into files, refused ones and directories.
func (w *walker) addEntries(dir string, entries []fs.DirEntry) (below []string, ended bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return nil, true, nil
	}
	if w.entries += len(entries); w.entries > w.limits.Files {
		return nil, false, fmt.Errorf("%w: more than %d entries", ErrTooLarge, w.limits.Files)
	}
	for _, entry := range entries {
		path := entry.Name()
		if dir != "." {
			path = dir + "/" + path
		}
		kind := entry.Type()
		if CheckPath(path) != nil {
			w.refused = append(w.refused, &EntryError{path, "a name that a tree cannot hold"})
			continue
		}
		if kind.IsDir() {
			below = append(below, path)
			if err := w.noteDir(path, entry); err != nil {
				return nil, false, err
			}
			continue
		}
		var size int64
		if kind.IsRegular() {
			info, err := entry.Info() // holds the lock, but has the answer already where it is an os.Root
			if err != nil {
				return nil, false, fmt.Errorf("list directory: %w", err)
			}
			kind, size = info.Mode(), info.Size()
		}
		if !kind.IsRegular() { // also if it was replaced since the directory was read
			w.refused = append(w.refused, &EntryError{path, Kind(kind)})
			continue
		}
		if w.bytes += size; w.bytes > w.limits.Bytes {
			return nil, false, fmt.Errorf("%w: more than %d bytes", ErrTooLarge, w.limits.Bytes)
		}
		if w.inspecting && kind&specialModes != 0 {
			w.unhashed = append(w.unhashed, newUnhashed(path, kind))
		}
		w.files = append(w.files, File{Path: path, Size: size, Exec: kind&0o111 != 0})
	}
	return below, false, nil
}

// Kind describes an entry of mode m for a message: "a symbolic link".
func Kind(m fs.FileMode) string {
	switch {
	case m&fs.ModeSymlink != 0:
		return "a symbolic link"
	case m&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeDevice != 0:
		return "a device"
	case m.IsDir():
		return "a directory"
	case m.IsRegular():
		return "a regular file"
	}
	return "not a regular file"
}
