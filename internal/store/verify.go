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
)

// Checked is the result of auditing one slot.
type Checked struct {
	Name   string          // relative to the store: "sha256/<2>/<64>", or what stands where a slot is due
	Ref    string          // from the sidecar; empty if that could not be read
	Report evidence.Report // as of Audit, with the slot's address in place of the lock
}

// Verify audits every slot against its own address, in order of the addresses.
// Whatever else lies among the slots is reported as a mismatch.
func (s *Store) Verify(ctx context.Context) ([]Checked, error) {
	var out []Checked
	err := s.each(func(name string, d digest.Digest) error {
		if d.IsZero() {
			stray := evidence.Claim{
				Subject: filepath.ToSlash(name), Scheme: evidence.File,
				Authority: evidence.Sidecar, Where: "the store's layout",
			}
			out = append(out, Checked{Name: name, Report: evidence.Report{text(stray, "is not a slot", filepath.Join(s.root, name))}})
			return nil
		}
		slot, report, err := s.audit(ctx, evidence.Claim{
			Subject: d.String(), Scheme: s.scheme, Want: []digest.Digest{d},
			Authority: evidence.Sidecar, Where: "the slot's address",
		}, true)
		if errors.Is(err, ErrNotStored) {
			return nil // removed since it was listed
		}
		if err != nil {
			return err
		}
		c := Checked{Name: name, Report: report}
		if slot != nil {
			c.Ref = slot.Ref
		}
		out = append(out, c)
		return nil
	})
	return out, err
}

// each calls f for every slot, and with the zero digest for everything else that
// lies where slots do.
func (s *Store) each(f func(name string, d digest.Digest) error) error {
	r, err := s.open()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer r.Close()
	return eachEntry(r, slotsDir, func(dir string, entry fs.DirEntry) error {
		if !entry.IsDir() || len(entry.Name()) != 2 {
			return f(dir, digest.Digest{})
		}
		return eachEntry(r, dir, func(name string, slot fs.DirEntry) error {
			d, err := digest.ParseHex(digest.SHA256, slot.Name())
			if err != nil || d.Hex() != slot.Name() || d.Hex()[:2] != entry.Name() {
				d = digest.Digest{}
			}
			return f(name, d)
		})
	})
}

func eachEntry(r *os.Root, dir string, f func(name string, entry fs.DirEntry) error) error {
	if err := realDir(r, dir); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return fmt.Errorf("store: %w", err)
	}
	entries, err := fs.ReadDir(r.FS(), filepath.ToSlash(dir))
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	for _, entry := range entries {
		if err := f(filepath.Join(dir, entry.Name()), entry); err != nil {
			return err
		}
	}
	return nil
}

// Prune removes the slots, good or bad, that are older than before and that keep
// does not want, and returns their digests. The age protects a slot whose lock entry is about to
// be written: before lies well in the past. A program that runs from a slot that nobody keeps
// loses its files.
func (s *Store) Prune(ctx context.Context, before time.Time, keep func(digest.Digest) bool) ([]digest.Digest, error) {
	var gone []digest.Digest
	err := s.each(func(name string, d digest.Digest) error {
		if d.IsZero() || keep(d) {
			return nil
		}
		unlock, err := s.lock(ctx, d)
		if err != nil {
			return err
		}
		defer unlock()
		removed, err := s.prune(name, before)
		if removed {
			gone = append(gone, d)
		}
		return err
	})
	return gone, err
}

// prune removes the slot at name if it is older than before. Its age is that of the
// rename or chmod that made it, kept by the directory's modification time.
func (s *Store) prune(name string, before time.Time) (bool, error) {
	r, err := s.create(stagingDir)
	if err != nil {
		return false, err
	}
	defer r.Close()
	info, err := r.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("store: %w", err)
	}
	if !info.ModTime().Before(before) {
		return false, nil
	}
	// Moved first, so that a kill leaves no half slot under the address; the rest is
	// swept with the stagings, as nobody holds a lock of it.
	to := filepath.Join(stagingDir, "pruned-"+filepath.Base(name))
	if info.IsDir() {
		r.Chmod(name, 0o700)
	}
	if err := s.removeAll(r, to); err != nil {
		return false, fmt.Errorf("store: %w", err)
	}
	if err := r.Rename(name, to); err != nil {
		return false, fmt.Errorf("store: %w", err)
	}
	if err := s.removeAll(r, to); err != nil {
		return true, fmt.Errorf("store: %w", err)
	}
	return true, nil
}
