package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
)

// Quarantine moves the slot for want out of the way, so that it can be made again, and
// returns where to. It audits the slot once more under its lock: another process may have
// replaced a bad slot with a good one since the caller looked. A good slot stays, and the
// path is empty then and where there is no slot.
func (s *Store) Quarantine(ctx context.Context, want digest.Digest, reason string) (string, error) {
	at, err := address(want)
	if err != nil {
		return "", err
	}
	unlock, err := s.lock(ctx, want)
	if err != nil {
		return "", err
	}
	defer unlock()
	slot, report, err := s.Audit(ctx, want.String(), want)
	if slot != nil || errors.Is(err, ErrNotStored) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	r, err := s.open()
	if err != nil {
		return "", err
	}
	defer r.Close()
	return s.moveToQuarantine(r, at, want, reason, report)
}

// moveToQuarantine takes the slot at address at, be it a directory or whatever stands there, to quarantine
// and logs it. The caller holds the slot's lock.
func (s *Store) moveToQuarantine(
	r *os.Root, at string, want digest.Digest, reason string, report evidence.Report,
) (string, error) {
	// The directory with the first two digits may itself be what is wrong.
	for _, dir := range []string{slotsDir, filepath.Dir(at)} {
		var notDir *notDirError
		if err := checkDir(r, dir); errors.As(err, &notDir) {
			at = dir
			break
		}
	}
	q, err := s.create(quarantineDir)
	if err != nil {
		return "", err
	}
	q.Close()
	name := want.Hex() + "-" + time.Now().UTC().Format(quarantineTime) + "-" + strings.ToLower(rand.Text()[:8])
	to := filepath.Join(quarantineDir, name)
	if info, err := r.Lstat(at); err == nil && info.IsDir() {
		r.Chmod(at, 0o700) // a directory that moves must be writable
	}
	if err := r.Rename(at, to); err != nil {
		return "", fmt.Errorf("quarantine: %w", err)
	}
	path := filepath.Join(s.root, to)
	var first string
	for _, e := range report {
		if e.Outcome != evidence.Match {
			first = e.Title()
			break
		}
	}
	s.log.Warn("a slot of the store was moved to quarantine", "reason", reason, "finding", first, "path", path)
	return path, nil
}
