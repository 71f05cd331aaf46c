package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/tree"
)

// Slot is a tree in the store whose bytes matched when it was returned. They may have changed since:
// every use begins with [Store.Audit].
type Slot struct {
	Digest  digest.Digest // the fingerprint, the slot's address
	Ref     string        // what the tree was made of, as Put was told
	Size    int64         // bytes of all files
	Files   int
	Created time.Time
	Assets  map[string]digest.Digest // of each file, by path; under facet-tar, and of a tree of one file
	dir     string
}

// Dir is the directory that holds the files, read-only.
func (s *Slot) Dir() string { return s.dir }

// Put moves what was staged into the store. It computes the fingerprint itself and
// asks adm whether that may be kept as subject; ref is recorded, and names the slot in
// listings. Directories without a file below them are removed: a fingerprint does not cover
// them, so that an audit would refuse them. If the slot exists already and is valid, it stays and
// is returned; a bad one is moved to quarantine. The staging is over when Put returns, with an
// error too: then nothing of it is left.
//
// No file may have a second name (a hard link): its bytes could be changed, and its
// mode would be changed by us, through a name outside the store.
func (s *Store) Put(ctx context.Context, adm policy.Admitted, subject string, st *Staging, ref string) (*Slot, error) {
	if st.store.root != s.root || st.store.scheme != s.scheme {
		return nil, errors.New("staging: belongs to another store")
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	defer st.discard()
	if ref == "" {
		return nil, errors.New("staging: nobody said what the tree was made of")
	}
	m, err := st.measure(ctx)
	if err != nil {
		return nil, err
	}
	defer m.close()
	if err := adm.Permits(subject, m.tree, policy.Keep); err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	note, data, err := st.encodeSidecar(ctx, m, ref)
	if err != nil {
		return nil, err
	}
	if err := protect(m.root); err != nil {
		return nil, fmt.Errorf("staging: %w", err)
	}
	m.close() // an open directory cannot be renamed everywhere

	return s.place(ctx, st, m, note, data)
}

// place moves a staged tree to its address, with its sidecar, of which data are the bytes.
func (s *Store) place(ctx context.Context, st *Staging, m *stagedTree, note *sidecar, data []byte) (*Slot, error) {
	at, err := address(m.tree)
	if err != nil {
		return nil, err
	}
	r, err := s.create(slotsDir, filepath.Dir(at))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if err := writeSidecar(r, filepath.Join(st.name, sidecarName), data); err != nil {
		return nil, fmt.Errorf("staging: %w", err)
	}
	unlock, err := s.lock(ctx, m.tree)
	if err != nil {
		return nil, err
	}
	defer unlock()
	slot, err := s.evict(ctx, r, at, m.tree, "was bad when the same tree was put again")
	if slot != nil || err != nil {
		return slot, err
	}
	// The directory itself stays writable until it has moved: moving it changes
	// its entry for the parent. A kill between the two leaves it writable, no more.
	if err := r.Rename(st.name, at); err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	st.release(r)
	r.Chmod(at, 0o555)
	return note.slot(m.treeSums, len(m.files), filepath.Join(s.root, at)), nil
}

// encodeSidecar returns the sidecar of what was staged and measured, and its bytes.
func (st *Staging) encodeSidecar(ctx context.Context, m *stagedTree, ref string) (*sidecar, []byte, error) {
	note, err := m.describe(ctx, ref)
	if err != nil {
		return nil, nil, err
	}
	note.ContentHash = st.ContentHash
	if st.store.scheme != evidence.Tree {
		note.Scheme = st.store.scheme
	}
	data, err := note.encode()
	return note, data, err
}

// evict moves a bad slot at address at to quarantine and returns a good one. Without a
// slot it does nothing. The caller holds the slot's lock.
func (s *Store) evict(ctx context.Context, r *os.Root, at string, want digest.Digest, reason string) (*Slot, error) {
	slot, report, err := s.Audit(ctx, want.String(), want)
	switch {
	case errors.Is(err, ErrNotStored):
		return nil, nil
	case err != nil:
		return nil, err
	case slot != nil:
		return slot, nil
	}
	_, err = s.moveToQuarantine(r, at, want, reason, report)
	return nil, err
}

// describe returns the sidecar of m. Ref is what the tree was made of.
func (m *stagedTree) describe(ctx context.Context, ref string) (*sidecar, error) {
	sums := m.treeSums.files
	if sums == nil {
		var err error
		if sums, err = tree.Digests(ctx, m.files, m.open, 0); err != nil {
			return nil, fmt.Errorf("staging: %w", err)
		}
	}
	note := &sidecar{
		Schema:    sidecarSchema,
		Integrity: m.tree,
		Ref:       ref,
		Size:      contentSize(m.files),
		Created:   time.Now().UTC().Truncate(time.Second),
		Files:     make(map[string]fileNote, len(m.files)),
	}
	for _, f := range m.files {
		note.Files[f.Path] = fileNote{sums[f.Path], f.Size, f.Exec}
	}
	return note, nil
}

// slot returns the slot in dir that c describes, of which found was measured.
func (c *sidecar) slot(found treeSums, files int, dir string) *Slot {
	return &Slot{Digest: found.tree, Assets: found.files, Ref: c.Ref, Size: c.Size, Files: files, Created: c.Created,
		dir: filepath.Join(dir, contentDir)}
}

// protect takes write permission and special modes from everything in r, directories last,
// and removes directories that hold nothing.
func protect(r *os.Root) error {
	var dirs []string
	err := fs.WalkDir(r.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			dirs = append(dirs, path)
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if linkCount(info) > 1 {
			return fmt.Errorf("%+q has other names (hard links); files must be copied into a staging directory", path)
		}
		mode := fs.FileMode(0o444)
		if info.Mode()&0o111 != 0 {
			mode = 0o555
		}
		return r.Chmod(path, mode)
	})
	for i := len(dirs) - 1; i >= 0 && err == nil; i-- { // the deeper ones first
		if dirs[i] != "." && r.Remove(dirs[i]) == nil { // fails unless the directory is empty
			continue
		}
		err = r.Chmod(dirs[i], 0o555)
	}
	return err
}

// writeSidecar writes a new file with the bytes of a sidecar.
func writeSidecar(r *os.Root, name string, data []byte) error {
	f, err := r.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o444)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// lock takes the lock under which the slot for d, and those with the same first two digits, are put,
// moved or removed.
func (s *Store) lock(ctx context.Context, d digest.Digest) (unlock func(), err error) {
	r, err := s.create(locksDir)
	if err != nil {
		return nil, err
	}
	r.Close()
	return durable.Lock(ctx, filepath.Join(s.root, locksDir, d.Hex()[:2]), "slots "+d.Hex()[:2]+"…")
}

// LockFetch takes the lock under which the tree for the slot want is fetched, and waits for it until
// ctx ends. Of many processes that need one tree the first fetches it; the others get the lock when
// done is called, audit the slot, and find it.
func (s *Store) LockFetch(ctx context.Context, want digest.Digest) (done func(), err error) {
	if _, err := address(want); err != nil {
		return nil, err
	}
	r, err := s.create(locksDir)
	if err != nil {
		return nil, err
	}
	r.Close()
	return durable.Lock(ctx, filepath.Join(s.root, locksDir, "make-"+want.Hex()[:2]), "the making of slots "+
		want.Hex()[:2]+"…")
}
