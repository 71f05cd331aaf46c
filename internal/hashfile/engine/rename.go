package engine

import (
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"strings"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/hashline"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
)

// Move renames what is at one place to another place, where nothing is. From one allowed directory to another only
// files are moved.
func (w *writer) Move(from, to *place.Place) error {
	for _, p := range []*place.Place{from, to} {
		if err := p.CheckUnmoved(); err != nil {
			return err
		}
	}
	move := moveSame
	if from.Root != to.Root {
		move = w.copyAcross
	}
	if err := move(from, to); err != nil {
		return err
	}
	return errors.Join(syncDir(to.Parent()), syncDir(from.Parent()))
}

// moveSame moves within one allowed directory. The file that was checked is held open meanwhile; if another file turns
// out to have been moved, it is moved back.
func moveSame(from, to *place.Place) error {
	isHeld, release, err := hold(from)
	if err != nil {
		return err
	}
	defer release()
	if err := renameNew(from, to); err != nil {
		return err
	}
	if now, err := to.Parent().Lstat(to.Name); err == nil && isHeld(now) {
		return nil
	}
	return errors.Join(
		place.Refuse(place.IO, "%s was replaced while it was moved; try again", place.Show(from.Asked)),
		renameNew(to, from))
}

// hold opens what is at a place, so that its inode number is not given to another file before release is called.
// IsHeld reports whether a file is the one that is held. A link is not opened.
func hold(p *place.Place) (isHeld func(fs.FileInfo) bool, release func() error, err error) {
	var held fs.FileInfo
	switch {
	case p.Info.IsDir():
		dir, _, err := p.OpenDirectory()
		if err != nil {
			return nil, nil, err
		}
		if held, err = dir.Stat("."); err != nil {
			dir.Close()
			return nil, nil, err
		}
		release = dir.Close
	case p.Info.Mode()&fs.ModeSymlink != 0:
		held, release = p.Info, func() error { return nil }
	default:
		f, info, err := p.Open(os.O_RDONLY)
		if err != nil {
			return nil, nil, err
		}
		held, release = info, f.Close
	}
	return func(info fs.FileInfo) bool {
			return os.SameFile(info, held) && info.Mode().Type() == held.Mode().Type()
		},
		release, nil
}

// copyAcross moves a file to another allowed directory, which may be on another file system: it copies the file,
// verifies the copy and removes the original. Directories are refused, and links: they have no bytes to verify, and
// what they lead to from elsewhere is another thing.
func (w *writer) copyAcross(from, to *place.Place) error {
	if !from.Info.Mode().IsRegular() {
		return place.Refuse(hashline.Invalid,
			"%s is %s; only files are moved from one allowed directory to another",
			place.Show(from.Asked), place.Kind(from.Info.Mode()))
	}
	f, info, err := from.Open(os.O_RDONLY)
	if err != nil {
		return err
	}
	defer f.Close()
	if countLinks(f) > 1 && !w.hardLinks {
		return place.Refuse(place.HardLink,
			"%s has several names (hard links); the server moves such files only with --hard-links",
			place.Show(from.Asked))
	}
	hasher := digest.NewHasher()
	d, err := w.newDraft(to, 0o600, func(out *os.File) error {
		if _, err := io.Copy(io.MultiWriter(out, hasher), f); err != nil {
			return err
		}
		lost, err := copyMetadata(f, out, info)
		if err == nil && len(lost) > 0 { // the original goes, so that nothing would tell what it was
			err = place.Refuse(place.IO, "%s cannot be moved with all that it has (%s)", place.Show(from.Asked),
				strings.Join(lost, "; "))
		}
		return err
	})
	if err != nil {
		return err
	}
	defer d.close()
	want := hasher.Digest(digest.SHA256)
	if err := verifyCopy(io.NewSectionReader(d, 0, math.MaxInt64), from, want); err != nil {
		return err
	}
	if err := d.create(to); err != nil {
		return err
	}
	if err := syncDir(to.Parent()); err != nil {
		return err
	}
	return w.removeVerified(from, want)
}

// removeVerified removes a file that has been copied, if its digest is still want. It renames the file first, so that
// it removes the file that it verified, and not one that another process puts under the old name meanwhile. After an
// error both files exist.
func (w *writer) removeVerified(from *place.Place, want digest.Digest) error {
	taken, release, err := w.setAside(from, func(taken *place.Place) error { return renameNew(from, taken) })
	if err != nil {
		return err
	}
	defer release()
	if err = verifyTaken(taken, from, want); err == nil {
		return taken.Parent().Remove(taken.Name)
	}
	if renameNew(taken, from) != nil {
		return place.Refuse(hashline.Stale,
			"%s was changed while it was moved, and then made again; the copy is there, and the version that was "+
				"changed is kept as %s", place.Show(from.Asked), place.Show(taken.Asked))
	}
	return err
}

// verifyTaken verifies a file that was renamed in order to be removed; asked is its place before.
func verifyTaken(taken, asked *place.Place, want digest.Digest) (err error) {
	if taken.Info, err = taken.Parent().Lstat(taken.Name); err != nil {
		return err
	}
	f, _, err := taken.Open(os.O_RDONLY)
	if err != nil {
		return err
	}
	defer f.Close()
	return verifyCopy(f, asked, want)
}

// verifyCopy reads a file again and fails if its digest is not want. P is the place of the original.
func verifyCopy(f io.Reader, p *place.Place, want digest.Digest) error {
	got, size, err := digest.FromReader(f)
	if err != nil {
		return err
	}
	e := evidence.Compare(evidence.Claim{Subject: p.Asked, Scheme: evidence.File, Want: []digest.Digest{want}},
		evidence.Observed{Digests: []digest.Digest{got}, Size: size})
	if e.Outcome != evidence.Match {
		return place.Refuse(hashline.Stale, "%s was changed while it was moved; both files are there now",
			place.Show(p.Asked))
	}
	return nil
}

// checkVacant fails with fs.ErrExist if something is at a place. It is for systems that cannot refuse to replace a
// file when they rename another one.
func checkVacant(p *place.Place) error {
	switch _, err := p.Parent().Lstat(p.Name); {
	case err == nil:
		return fs.ErrExist
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	return nil
}
