package engine

import (
	"errors"
	"io/fs"
	"os"

	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/rules"
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
			return rules.RefusalOf(p.Asked, err)
		}
		info, err := dir.Lstat(name)
		if err != nil {
			return rules.RefusalOf(p.Asked, err)
		}
		if !info.IsDir() {
			return rules.Refuse(rules.Exists, "%s: something else was made there meanwhile", rules.Show(p.Asked))
		}
		sub, err := place.OpenDir(dir, name)
		if err != nil {
			return rules.RefusalOf(p.Asked, err)
		}
		opened = append(opened, sub)
		if err := syncDir(dir); err != nil {
			return rules.RefusalOf(p.Asked, err)
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
