package hashfile

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/contents"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/names"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/refusal"
)

// lockTime is how long a call waits for others that write the same file.
const lockTime = 30 * time.Second

// lock takes the locks of places, which exclude other calls, in this and in other servers of the user.
// The locks of all paths are 256 files, so that their number is bounded. A name that could be part of
// a repository takes the lock of its directory too and is checked again under it: otherwise calls at
// the same time could make one part each, and together a repository.
func (s *Server) lock(ctx context.Context, places ...*place.Place) (unlock func(), err error) {
	var slots []string
	add := func(path string) {
		h := sha256.Sum256([]byte(path))
		slots = append(slots, hex.EncodeToString(h[:1]))
	}
	for _, p := range places {
		add(p.Real())
		if names.IsGitPart(p.Name) {
			add(p.Directory())
		}
	}
	slices.Sort(slots) // the same order everywhere, or two calls would wait for each other
	slots = slices.Compact(slots)
	if err := os.MkdirAll(s.c.Locks, 0o700); err != nil {
		return nil, refusal.New(refusal.IO, "the directory for locks cannot be made: %s", refusal.Show(refusal.Cause(err).Error()))
	}
	ctx, cancel := context.WithTimeout(ctx, lockTime)
	defer cancel()
	var held []func()
	release := func() {
		for _, u := range held {
			u()
		}
	}
	for _, slot := range slots {
		u, err := durable.Lock(ctx, filepath.Join(s.c.Locks, slot), "a file that is edited")
		if err != nil {
			release()
			return nil, refusal.New(refusal.IO, "another edit of the file does not end: %s; try again", refusal.Show(err.Error()))
		}
		held = append(held, u)
	}
	for _, p := range places {
		if err := p.CheckMakesNoRepository(); err != nil {
			release()
			return nil, err
		}
	}
	return release, nil
}

// errReplaced says that somebody else wrote the file after it was read.
var errReplaced = errors.New("was changed by somebody else while it was edited")

// tempName is the name of a new file beside its place.
func tempName(name string) string {
	if len(name) > 200 { // names end at 255 bytes
		name = strings.ToValidUTF8(name[:200], "")
	}
	return "." + name + "." + rand.Text()[:12] + ".tmp"
}

// replaceFile makes data the content of the file at p, which was read as old. On an
// error the file is as it was, or as somebody else made it.
func (s *Server) replaceFile(p *place.Place, old contents.Contents, data []byte) error {
	if err := p.CheckUnmoved(); err != nil {
		return err
	}
	// for what is kept of it; a file that may not be written is not replaced either
	from, opened, err := p.Open(os.O_RDWR)
	if err != nil {
		return err
	}
	defer from.Close()
	if !os.SameFile(old.Info, opened) {
		return errReplaced
	}
	if n := countLinks(from); n > 1 {
		if !s.c.HardLinks {
			return refusal.New(refusal.HardLink, "%s has %d names (hard links), which an atomic replacement would tear apart; the server writes such files only with --hard-links", refusal.Show(p.Asked), n)
		}
		return s.overwriteFile(p, old, data)
	}
	temp := tempName(p.Name)
	mine, err := writeTemp(p.Parent(), temp, data, func(f *os.File) error { return copyMetadata(from, f, old.Info) })
	if err != nil {
		return err
	}
	defer mine.Close()
	if err := p.CheckUnmoved(); err != nil {
		p.Parent().Remove(temp)
		return err
	}
	if err := swap(p.Parent(), temp, p.Name, mine, old); err != nil {
		return err
	}
	return syncDir(p.Parent())
}

// createFile gives data the name of a place where nothing is. Somebody else's file of that
// name stays, and is an error that wraps fs.ErrExist.
func createFile(p *place.Place, data []byte) error {
	if err := p.CheckUnmoved(); err != nil {
		return err
	}
	temp := p.Sibling(tempName(p.Name))
	f, err := writeTemp(p.Parent(), temp.Name, data, nil)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Close(), p.CheckUnmoved()); err != nil {
		p.Parent().Remove(temp.Name)
		return err
	}
	if err := renameNew(temp, p); err != nil {
		p.Parent().Remove(temp.Name)
		return err
	}
	return syncDir(p.Parent())
}

// writeTemp makes a new file and brings it to the disk. prepare may set what the file
// is to have besides its bytes. On an error there is no file. It stays open, so that its
// number cannot become another file's before it is closed.
func writeTemp(dir *os.Root, name string, data []byte, prepare func(*os.File) error) (f *os.File, err error) {
	perm := fs.FileMode(0o666)
	if prepare != nil {
		perm = 0o600 // until it has the old file's
	}
	if f, err = dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm); err != nil {
		return nil, err
	}
	made := f
	defer func() {
		if err != nil {
			made.Close()
			dir.Remove(name)
		}
	}()
	if _, err := f.Write(data); err != nil {
		return nil, err
	}
	if prepare != nil {
		if err := prepare(f); err != nil {
			return nil, err
		}
	}
	if err := f.Sync(); err != nil {
		return nil, err
	}
	return f, nil
}

// overwriteFile writes into the file itself, so that all its names show the new bytes. A crash
// may leave a mixture.
func (s *Server) overwriteFile(p *place.Place, old contents.Contents, data []byte) error {
	f, opened, err := p.Open(os.O_RDWR)
	if err != nil {
		return err
	}
	defer f.Close()
	if !os.SameFile(old.Info, opened) {
		return errReplaced
	}
	if same, err := old.IsIn(f); err != nil || !same {
		return errors.Join(err, errReplaced)
	}
	write := func(data []byte) error {
		if _, err := f.WriteAt(data, 0); err != nil {
			return err
		}
		return errors.Join(f.Truncate(int64(len(data))), f.Sync())
	}
	if err := write(data); err != nil {
		return errors.Join(err, write(old.Data)) // a full disk: the old bytes have room
	}
	return nil
}

// isUnchanged reports whether a name stands for the file that was read, and the file has the same bytes.
func isUnchanged(dir *os.Root, name string, old contents.Contents) bool {
	p := place.In(dir, name, old.Info)
	f, opened, err := p.Open(os.O_RDONLY)
	if err != nil {
		return false
	}
	defer f.Close()
	same, err := old.IsIn(f)
	return err == nil && same && os.SameFile(opened, old.Info)
}

// swapUnguarded is swap where two names cannot be exchanged: between the last look at the
// old file and the renaming lies a moment in which somebody else's bytes are lost.
func swapUnguarded(dir *os.Root, temp, name string, old contents.Contents) error {
	if !isUnchanged(dir, name, old) {
		dir.Remove(temp)
		return errReplaced
	}
	if err := dir.Rename(temp, name); err != nil {
		dir.Remove(temp)
		return err
	}
	return nil
}

// checkVacant fails with fs.ErrExist if something is at a place, for systems whose renaming cannot
// refuse to replace.
func checkVacant(p *place.Place) error {
	switch _, err := p.Parent().Lstat(p.Name); {
	case err == nil:
		return fs.ErrExist
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	return nil
}

// syncDir brings the names in a directory to the disk.
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
