package disk

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/hashline"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/refusal"
)

// Move renames what is at one place to another place, where nothing is. From one allowed directory to another only
// files are moved.
func (w *Writer) Move(from, to *place.Place) error {
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
	var held fs.FileInfo
	if from.Info.IsDir() {
		dir, _, err := from.OpenDirectory()
		if err != nil {
			return err
		}
		defer dir.Close()
		if held, err = dir.Stat("."); err != nil {
			return err
		}
	} else {
		f, info, err := from.Open(os.O_RDONLY)
		if err != nil {
			return err
		}
		defer f.Close()
		held = info
	}
	if err := renameNew(from, to); err != nil {
		return err
	}
	if now, err := to.Parent().Lstat(to.Name); err == nil && os.SameFile(now, held) {
		return nil
	}
	return errors.Join(
		refusal.New(refusal.IO, "%s was replaced while it was moved; try again", refusal.Show(from.Asked)),
		renameNew(to, from))
}

// copyAcross moves a file to another allowed directory, which may be on another file system: it copies the file,
// verifies the copy and removes the original. Directories are refused.
func (w *Writer) copyAcross(from, to *place.Place) error {
	if from.Info.IsDir() {
		return refusal.New(hashline.Invalid,
			"%s is a directory; only files are moved from one allowed directory to another",
			refusal.Show(from.Asked))
	}
	f, info, err := from.Open(os.O_RDONLY)
	if err != nil {
		return err
	}
	defer f.Close()
	if countLinks(f) > 1 && !w.hardLinks {
		return refusal.New(refusal.HardLink,
			"%s has several names (hard links); the server moves such files only with --hard-links",
			refusal.Show(from.Asked))
	}
	temp := to.Sibling(tempName(to.Name))
	hasher := digest.NewHasher()
	written, err := writeTemp(to.Parent(), temp.Name, nil, func(out *os.File) error {
		if _, err := io.Copy(io.MultiWriter(out, hasher), f); err != nil {
			return err
		}
		return copyMetadata(f, out, info)
	})
	if err != nil {
		return err
	}
	defer written.Close()
	if temp.Info, err = written.Stat(); err != nil {
		return err
	}
	if err := verifyCopy(temp, hasher.Digest(digest.SHA256)); err != nil {
		to.Parent().Remove(temp.Name)
		return err
	}
	if err := renameNew(temp, to); err != nil {
		to.Parent().Remove(temp.Name)
		return err
	}
	if err := syncDir(to.Parent()); err != nil {
		return err
	}
	return removeVerified(from, hasher.Digest(digest.SHA256))
}

// removeVerified removes a file that has been copied, if its digest is still want. It renames the file first, so that
// it removes the file that it verified, and not one that another process puts under the old name meanwhile. After an
// error both files exist.
func removeVerified(from *place.Place, want digest.Digest) error {
	taken := from.Sibling(tempName(from.Name))
	if err := renameNew(from, taken); err != nil {
		return err
	}
	var err error
	if taken.Info, err = taken.Parent().Lstat(taken.Name); err == nil {
		err = verifyCopy(taken, want)
	}
	if err == nil {
		return taken.Parent().Remove(taken.Name)
	}
	if back := renameNew(taken, from); back != nil {
		return refusal.New(hashline.Stale,
			"%s was changed while it was moved; both files are there now, and what was changed is called %s",
			refusal.Show(from.Asked), refusal.Show(taken.Name))
	}
	return err
}

// verifyCopy reads a file again and fails if its digest is not want.
func verifyCopy(p *place.Place, want digest.Digest) error {
	f, _, err := p.Open(os.O_RDONLY)
	if err != nil {
		return err
	}
	defer f.Close()
	got, size, err := digest.FromReader(f)
	if err != nil {
		return err
	}
	e := evidence.Compare(evidence.Claim{Subject: p.Asked, Scheme: evidence.File, Want: []digest.Digest{want}},
		evidence.Observed{Digests: []digest.Digest{got}, Size: size})
	if e.Outcome != evidence.Match {
		return refusal.New(hashline.Stale, "%s was changed while it was moved; both files are there now",
			refusal.Show(p.Asked))
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
