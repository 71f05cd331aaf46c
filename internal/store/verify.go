package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/tree"
)

// SlotReport is the result of auditing one slot.
type SlotReport struct {
	Name   string          // relative to the store: "sha256/<2>/<64>", or what stands where a slot is due
	Ref    string          // from the sidecar; empty if that could not be read
	Report evidence.Report // as Audit returns it, with the slot's address in place of the lock
}

// Verify audits every slot against its own address, in order of the addresses.
// Whatever else lies among the slots, or in the store's directory, is reported as a
// mismatch. What is in quarantine is not looked at: see [Store.ListQuarantined].
func (s *Store) Verify(ctx context.Context) ([]SlotReport, error) {
	out, err := s.findForeign()
	if err != nil {
		return nil, err
	}
	err = s.eachSlot(func(name string, d digest.Digest) error {
		if d.IsZero() {
			out = append(out, s.foreignReport(name, "is not a slot"))
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
		c := SlotReport{Name: name, Report: report}
		if slot != nil {
			c.Ref = slot.Ref
		}
		out = append(out, c)
		return nil
	})
	return out, err
}

// foreignReport is the report about something at name that is no part of a store.
func (s *Store) foreignReport(name, what string) SlotReport {
	return SlotReport{Name: name, Report: evidence.Report{mismatch(evidence.Claim{
		Subject: filepath.ToSlash(name), Scheme: evidence.File,
		Authority: evidence.Sidecar, Where: "the store's layout",
	}, what, filepath.Join(s.root, name))}}
}

// findForeign reports what is in the store's directory, or in that of its locks, and is not in the
// layout that the package comment gives.
func (s *Store) findForeign() ([]SlotReport, error) {
	r, err := s.open()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var out []SlotReport
	for _, dir := range []string{".", locksDir} {
		entries, err := fs.ReadDir(r.FS(), dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("store: %w", err)
		}
		for _, entry := range entries {
			name := filepath.Join(dir, entry.Name())
			switch {
			case dir == locksDir && entry.Type().IsRegular() && isSlotPrefix(strings.TrimPrefix(entry.Name(), "make-")):
			case dir == locksDir, !slices.Contains([]string{slotsDir, stagingDir, quarantineDir, locksDir}, name):
				out = append(out, s.foreignReport(name, "is no part of a store"))
			case !entry.IsDir():
				out = append(out, s.foreignReport(name, "is "+tree.Kind(entry.Type())))
			}
		}
		if slices.ContainsFunc(out, func(c SlotReport) bool { return c.Name == locksDir }) {
			break // its own listing would be that of another directory
		}
	}
	return out, nil
}

// isSlotPrefix reports whether name belongs to a directory of slots: two hexadecimal digits.
func isSlotPrefix(name string) bool {
	return len(name) == 2 && strings.Trim(name, "0123456789abcdef") == ""
}

// ListQuarantined returns the absolute paths of the slots that were found bad and moved away.
func (s *Store) ListQuarantined() ([]string, error) {
	r, err := s.open()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if checkDir(r, quarantineDir) != nil {
		return nil, nil // there is none; anything else in its place is reported by Verify
	}
	entries, err := fs.ReadDir(r.FS(), quarantineDir)
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	var out []string
	for _, entry := range entries {
		out = append(out, filepath.Join(s.root, quarantineDir, entry.Name()))
	}
	return out, nil
}

// eachSlot calls f for every slot, and with the zero digest for everything else that
// lies where slots do.
func (s *Store) eachSlot(f func(name string, d digest.Digest) error) error {
	r, err := s.open()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer r.Close()
	var notDir *notDirError
	if errors.As(checkDir(r, slotsDir), &notDir) {
		return nil // Verify reports it
	}
	return eachEntry(r, slotsDir, func(dir string, entry fs.DirEntry) error {
		if !entry.IsDir() || len(entry.Name()) != 2 {
			return f(dir, digest.Digest{})
		}
		holds := isSlotPrefix(entry.Name())
		err := eachEntry(r, dir, func(name string, slot fs.DirEntry) error {
			holds = true
			d, err := digest.ParseHex(digest.SHA256, slot.Name())
			if err != nil || d.Hex() != slot.Name() || d.Hex()[:2] != entry.Name() {
				d = digest.Digest{}
			}
			return f(name, d)
		})
		if err == nil && !holds {
			err = f(dir, digest.Digest{})
		}
		return err
	})
}

// eachEntry calls f for every entry of directory dir in r.
func eachEntry(r *os.Root, dir string, f func(name string, entry fs.DirEntry) error) error {
	if err := checkDir(r, dir); err != nil {
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
	err := s.eachSlot(func(name string, d digest.Digest) error {
		if d.IsZero() || keep(d) {
			return nil
		}
		unlock, err := s.lock(ctx, d)
		if err != nil {
			return err
		}
		defer unlock()
		removed, err := s.pruneSlot(name, before)
		if removed {
			gone = append(gone, d)
		}
		return err
	})
	return gone, err
}

// pruneSlot removes the slot at name if it is older than before. Its age is the age of the
// rename or chmod that made it, kept by the directory's modification time.
func (s *Store) pruneSlot(name string, before time.Time) (bool, error) {
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
	// The slot is moved first, so that a kill leaves no half slot under the address. Stage removes
	// what is left of it later, because no process holds a lock for it.
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
