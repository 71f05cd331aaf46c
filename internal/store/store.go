// Package store keeps file trees under their fingerprint and hashes them again at
// every use.
//
// # Layout
//
//	sha256/<first 2>/<64 hex digits>/   a slot; its name is the tree's hallmark-tree-v1, or its
//	                                    facet-tar if it was unpacked from an archive, see [Store.WithScheme]
//	    content/                        the files: 0444, or 0555 if executable; directories 0555
//	    sidecar.json                    what Put knew of them, see [sidecar]
//	staging/<id>/                       a tree being made, on the same file system
//	staging/<id>.lock                   held by the process that makes it
//	quarantine/<64 hex>-<time>-<id>/    slots that were found bad, kept for inspection until [Store.PruneQuarantine]
//	locks/<first 2>                     held while slots with that prefix are put, moved or removed
//	locks/make-<first 2>                held while what such a slot will hold is fetched
//
// Everything is created with mode 0700 or less, when it is first needed.
//
// # What is promised
//
// A slot appears by one rename and is complete when it appears: a process that is
// killed before leaves a staging directory, which the next [Store.Stage] removes, as the
// kernel has released its lock. Content is not synced to the disk. A power cut may leave a slot
// with empty or missing files, but no slot is used without [Store.Audit], which reads and hashes
// every byte: a damaged slot is found, moved to quarantine and fetched again, and
// syncing thousands of files at each install would buy nothing.
//
// Read-only modes keep programs from changing the store by mistake. They are no
// protection from a process of the same user, and neither is the sidecar, which such a process can
// rewrite together with the content: Audit therefore takes the fingerprint that is
// wanted from its caller, who has it from the lock. A writer of the same user who acts after the
// audit is outside the guarantee.
//
// No link is followed below the store's directory. A slot holds its files and nothing else:
// one with a link, a device, a pipe, an empty directory or a setuid, setgid or sticky mode anywhere in it
// is bad, and so is one with another entry beside content and sidecar, or with a sidecar that
// is not the one that its files call for.
package store

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/tree"
)

// Store is a directory of slots. Its methods may be called by many goroutines and
// many processes at once.
type Store struct {
	root   string // absolute
	limits tree.Limits
	scheme evidence.Scheme // of the fingerprint that addresses slots
	log    *slog.Logger
}

// ErrNotStored says that the store has no slot for a digest.
var ErrNotStored = errors.New("not in the store")

const (
	slotsDir      = "sha256"
	stagingDir    = "staging"
	quarantineDir = "quarantine"
	locksDir      = "locks"
	contentDir    = "content"
	sidecarName   = "sidecar.json"
)

// Open returns the store in directory root, which warns log of what it moves to
// quarantine. Nothing is created before it is needed.
func Open(root string, log *slog.Logger) (*Store, error) {
	if root == "" {
		return nil, errors.New("store: no directory is given")
	}
	abs, err := filepath.Abs(root)
	if err != nil {
		return nil, fmt.Errorf("store %s: %w", root, err)
	}
	if info, err := os.Stat(abs); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("store %s: is not a directory", abs)
	}
	return &Store{root: abs, scheme: evidence.Tree, log: log}, nil
}

// Path is the store's directory, absolute.
func (s *Store) Path() string { return s.root }

// open opens the store's directory; its error wraps fs.ErrNotExist if nothing was ever stored.
func (s *Store) open() (*os.Root, error) {
	r, err := os.OpenRoot(s.root)
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	return r, nil
}

// create is open, and makes the store's directory and dirs in it if they are missing.
func (s *Store) create(dirs ...string) (*os.Root, error) {
	if err := os.MkdirAll(s.root, 0o700); err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	r, err := s.open()
	if err != nil {
		return nil, err
	}
	for _, dir := range dirs {
		err := r.Mkdir(dir, 0o700)
		if errors.Is(err, fs.ErrExist) {
			err = checkDir(r, dir)
		}
		if err != nil {
			r.Close()
			return nil, fmt.Errorf("store %s: %w", s.root, err)
		}
	}
	return r, nil
}

// checkDir returns nil if name in r is a directory, and not a link to one; else a *notDirError or the
// system's error.
func checkDir(r *os.Root, name string) error {
	info, err := r.Lstat(name)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return &notDirError{name, tree.Kind(info.Mode())}
	}
	return nil
}

// notDirError says that something stands where a directory is due.
type notDirError struct{ path, kind string }

func (e *notDirError) Error() string { return fmt.Sprintf("%+q is %s", e.path, e.kind) }

// openDir opens directory name in r without following a link, whenever it was put
// there.
func openDir(r *os.Root, name string) (*os.Root, error) {
	before, err := r.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !before.IsDir() {
		return nil, &notDirError{name, tree.Kind(before.Mode())}
	}
	sub, err := r.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	after, err := sub.Stat(".")
	if err == nil && !os.SameFile(before, after) {
		err = &notDirError{name, "not the directory that it was"}
	}
	if err != nil {
		sub.Close()
		return nil, err
	}
	return sub, nil
}

// address returns the path of the slot for d, relative to the store. The error says that d is no SHA-256.
func address(d digest.Digest) (string, error) {
	if d.Algorithm() != digest.SHA256 {
		return "", fmt.Errorf("store: a slot is addressed by sha256, not by %+q", d.String())
	}
	hex := d.Hex()
	return filepath.Join(slotsDir, hex[:2], hex), nil
}

// removeAll removes name, read-only directories too.
func (s *Store) removeAll(r *os.Root, name string) error {
	if r.RemoveAll(name) == nil {
		return nil
	}
	// Entries of a directory that is not writable cannot be removed. WalkDir does
	// not follow links.
	filepath.WalkDir(filepath.Join(s.root, name), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			os.Chmod(path, 0o700)
		}
		return nil
	})
	return r.RemoveAll(name)
}
