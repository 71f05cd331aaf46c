package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/tree"
)

// Staging is a private directory on the store's file system, to be filled and then
// put into the store or discarded.
type Staging struct {
	ContentHash digest.Digest // of the archive that the tree was unpacked from, for the sidecar; may be zero

	store  *Store
	name   string // relative to the store: staging/<id>
	mu     sync.Mutex
	unlock func() // nil when the staging is over
}

var errStagingOver = errors.New("staging: was already put or discarded")

// Stage makes an empty staging directory, after removing those whose process has
// died. A process is known to be dead by the kernel having released the lock that
// it held, whatever the age of its files and the reuse of process ids.
func (s *Store) Stage() (*Staging, error) {
	r, err := s.create(stagingDir)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	s.removeDeadStagings(r)

	st := &Staging{store: s}
	for range 100 {
		st.name = filepath.Join(stagingDir, strings.ToLower(rand.Text()[:16]))
		st.unlock, err = durable.TryLock(filepath.Join(s.root, st.name+".lock"), "a staging directory")
		// another process removed it between its making and its locking: take another name
		if !errors.Is(err, durable.ErrLocked) {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("staging: %w", err)
	}
	for _, dir := range []string{st.name, filepath.Join(st.name, contentDir)} {
		if err := r.Mkdir(dir, 0o700); err != nil {
			st.Discard()
			return nil, fmt.Errorf("staging: %w", err)
		}
	}
	return st, nil
}

// removeDeadStagings removes what dead processes left in staging. What it cannot remove stays for the
// next time, since that is no reason to fail.
func (s *Store) removeDeadStagings(r *os.Root) {
	entries, err := fs.ReadDir(r.FS(), stagingDir)
	if err != nil {
		return
	}
	locks := map[string]bool{}
	for _, entry := range entries {
		if id, ok := strings.CutSuffix(entry.Name(), ".lock"); ok {
			locks[id] = true
		}
	}
	for _, entry := range entries {
		name := filepath.Join(stagingDir, entry.Name())
		id, isLock := strings.CutSuffix(entry.Name(), ".lock")
		switch {
		case isLock:
			unlock, err := durable.TryLock(filepath.Join(s.root, name), "a staging directory")
			if err != nil {
				continue // its process is alive
			}
			// The directory first: a directory without a lock belongs to nobody.
			if s.removeAll(r, filepath.Join(stagingDir, id)) == nil {
				r.Remove(name)
			}
			unlock()
		case !locks[id]:
			// A lock is made before its directory, and both were listed at once.
			if _, err := r.Lstat(name + ".lock"); errors.Is(err, fs.ErrNotExist) {
				s.removeAll(r, name)
			}
		}
	}
}

// Dir is the directory to fill, absolute.
func (st *Staging) Dir() string { return filepath.Join(st.store.root, st.name, contentDir) }

// Discard removes the staging directory. It does nothing if that was put or
// discarded before.
func (st *Staging) Discard() error {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.discard()
}

// discard is Discard for a caller that holds the mutex.
func (st *Staging) discard() error {
	if st.unlock == nil {
		return nil
	}
	r, err := st.store.open()
	if err == nil {
		defer r.Close()
		err = st.store.removeAll(r, st.name)
	}
	st.release(r)
	if err != nil {
		return fmt.Errorf("staging: %w", err)
	}
	return nil
}

// release removes the lock file, if r is not nil, and releases the lock.
func (st *Staging) release(r *os.Root) {
	if r != nil {
		r.Remove(st.name + ".lock")
	}
	st.unlock()
	st.unlock = nil
}

// Measure computes the fingerprint of what was staged. It is an error if that is
// nothing, or holds anything but regular files and directories.
func (st *Staging) Measure(ctx context.Context) (evidence.Observed, error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	m, err := st.measure(ctx)
	if err != nil {
		return evidence.Observed{}, err
	}
	m.close()
	return evidence.Observed{Digests: []digest.Digest{m.tree}, Size: m.size, From: st.Dir()}, nil
}

// stagedTree is what was found in a content directory, which stays open.
type stagedTree struct {
	root  *os.Root
	files []tree.File
	treeSums
}

func (m *stagedTree) close() { m.root.Close() }

func (m *stagedTree) open(path string) (io.ReadCloser, error) { return m.root.Open(path) }

// measure is Measure for a caller that holds the mutex, and must close what it returns.
func (st *Staging) measure(ctx context.Context) (*stagedTree, error) {
	if st.unlock == nil {
		return nil, errStagingOver
	}
	r, err := st.store.open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	content, err := openDir(r, filepath.Join(st.name, contentDir))
	if err != nil {
		return nil, fmt.Errorf("staging: %w", err)
	}
	m := &stagedTree{root: content}
	m.files, err = tree.Walk(content.FS(), st.store.limits)
	if err == nil && len(m.files) == 0 {
		err = errors.New("holds no files")
	}
	if err == nil {
		err = checkNames(content)
	}
	if err == nil {
		m.treeSums, err = measureTree(ctx, st.store.scheme, m.files, m.open)
	}
	if err != nil {
		m.close()
		return nil, fmt.Errorf("staging: %w", err)
	}
	return m, nil
}
