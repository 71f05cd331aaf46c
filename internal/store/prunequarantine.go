package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// quarantineTime is how the name of a quarantined slot says when it was moved: 20060102T150405Z.
const quarantineTime = "20060102T150405Z"

// quarantined is what lies in quarantine under one name.
type quarantined struct {
	name string
	at   time.Time // when it was moved there
	size int64     // bytes of its regular files
}

// PruneQuarantine removes what was moved to quarantine before a time, and of the rest the oldest until at
// most the given number of bytes is left; what came there since young stays, whatever its size. It
// returns the absolute paths of what it removed.
func (s *Store) PruneQuarantine(ctx context.Context, before, young time.Time, most int64) ([]string, error) {
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
	all, err := listQuarantine(ctx, r)
	if err != nil {
		return nil, err
	}
	var gone []string
	room := most
	for _, q := range all {
		if room >= 0 { // otherwise there is none for anything older
			room -= q.size
		}
		if !q.at.Before(young) || !q.at.Before(before) && room >= 0 {
			continue
		}
		if err := s.removeAll(r, filepath.Join(quarantineDir, q.name)); err != nil {
			return gone, fmt.Errorf("quarantine: %w", err)
		}
		gone = append(gone, filepath.Join(s.root, quarantineDir, q.name))
	}
	return gone, nil
}

// listQuarantine lists what lies in quarantine, the newest first.
func listQuarantine(ctx context.Context, r *os.Root) ([]quarantined, error) {
	entries, err := fs.ReadDir(r.FS(), quarantineDir)
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	var all []quarantined
	for _, entry := range entries {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		q := quarantined{name: entry.Name()}
		if q.at, err = movedAt(entry); err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			return nil, fmt.Errorf("quarantine: %w", err)
		}
		q.size = sizeBelow(r, quarantineDir+"/"+entry.Name())
		all = append(all, q)
	}
	slices.SortFunc(all, func(a, b quarantined) int { return cmp.Or(b.at.Compare(a.at), cmp.Compare(a.name, b.name)) })
	return all, nil
}

// movedAt is when an entry of the quarantine came there: as its name says, or, if that says nothing, when it
// was changed last.
func movedAt(entry fs.DirEntry) (time.Time, error) {
	if parts := strings.Split(entry.Name(), "-"); len(parts) == 3 {
		if at, err := time.Parse(quarantineTime, parts[1]); err == nil {
			return at, nil
		}
	}
	info, err := entry.Info()
	if err != nil {
		return time.Time{}, err
	}
	return info.ModTime(), nil
}

// sizeBelow adds up the regular files at and below name, as far as they can be read. It follows no link.
func sizeBelow(r *os.Root, name string) (size int64) {
	fs.WalkDir(r.FS(), name, func(_ string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			if info, err := entry.Info(); err == nil {
				size += info.Size()
			}
		}
		return nil
	})
	return size
}
