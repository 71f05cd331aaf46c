package engine

import (
	"errors"
	"io/fs"
	"os"

	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
)

// MakeDirectories creates the directory of a place where nothing is, and those above it that are missing.
func (w *writer) MakeDirectories(p *place.Place) error {
	if err := p.CheckUnmoved(); err != nil {
		return err
	}
	dir, opened := p.Parent(), []*os.Root{}
	defer func() {
		for _, d := range opened {
			d.Close()
		}
	}()
	for _, name := range append([]string{p.Name}, p.Missing...) {
		if err := dir.Mkdir(name, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
			return place.RefusalOf(p.Asked, err)
		}
		info, err := dir.Lstat(name)
		if err != nil {
			return place.RefusalOf(p.Asked, err)
		}
		if !info.IsDir() {
			return place.Refuse(place.Exists, "%s: something else was made there meanwhile", place.Show(p.Asked))
		}
		sub, err := place.OpenDir(dir, name)
		if err != nil {
			return place.RefusalOf(p.Asked, err)
		}
		opened = append(opened, sub)
		if err := syncDir(dir); err != nil {
			return place.RefusalOf(p.Asked, err)
		}
		dir = sub
	}
	return nil
}

// syncDir syncs the names in a directory to the disk.
func syncDir(dir *os.Root) error {
	if !canSyncDirs {
		return nil
	}
	d, err := dir.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
