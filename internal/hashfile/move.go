package hashfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/hashline"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/names"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/refusal"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/roots"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/rules"
)

func (s *Server) createDirectory(ctx context.Context, sc *roots.Scope, in pathArguments) (*answer, error) {
	p, err := place.Resolve(sc, in.Path)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	if p.Info != nil {
		if !p.Info.IsDir() {
			return nil, refusal.New(refusal.Exists, "%s is %s", refusal.Show(in.Path), place.Kind(p.Info.Mode()))
		}
		return &answer{text: refusal.Show(in.Path) + " exists already\n",
			structure: map[string]any{"path": p.Real(), "created": false}}, nil
	}
	if err := p.CheckWritable(); err != nil {
		return nil, err
	}
	if names.IsGitPart(p.Name) {
		unlock, err := s.lock(ctx, p)
		if err != nil {
			return nil, err
		}
		defer unlock()
	}
	if err := p.CheckUnmoved(); err != nil {
		return nil, err
	}
	dir, closeAll := p.Parent(), []func() error{}
	defer func() {
		for _, f := range closeAll {
			f()
		}
	}()
	for _, name := range append([]string{p.Name}, p.Missing...) {
		if err := dir.Mkdir(name, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, refusal.Of(in.Path, err)
		}
		info, err := dir.Lstat(name)
		if err != nil {
			return nil, refusal.Of(in.Path, err)
		}
		if !info.IsDir() {
			return nil, refusal.New(refusal.Exists, "%s: something else was made there meanwhile", refusal.Show(in.Path))
		}
		sub, err := place.OpenDir(dir, name)
		if err != nil {
			return nil, refusal.Of(in.Path, err)
		}
		closeAll = append(closeAll, sub.Close)
		if err := syncDir(dir); err != nil {
			return nil, refusal.Of(in.Path, err)
		}
		dir = sub
	}
	return &answer{text: "created " + refusal.Show(in.Path) + "\n",
		structure: map[string]any{"path": p.Real(), "created": true}}, nil
}

type moveArguments struct {
	Source      string `json:"source" jsonschema:"file or directory to move"`
	Destination string `json:"destination" jsonschema:"its new path, where nothing may be"`
}

func (s *Server) moveFile(ctx context.Context, sc *roots.Scope, in moveArguments) (*answer, error) {
	from, err := place.Resolve(sc, in.Source)
	if err != nil {
		return nil, err
	}
	defer from.Close()
	to, err := place.Resolve(sc, in.Destination)
	if err != nil {
		return nil, err
	}
	defer to.Close()
	for _, p := range []*place.Place{from, to} {
		if err := p.CheckWritable(); err != nil {
			return nil, err
		}
	}
	if err := from.CheckExists(); err != nil {
		return nil, err
	}
	if sc.HoldsRoot(from.Real()) {
		return nil, refusal.New(refusal.ReadOnly, "%s is an allowed directory, or holds one", refusal.Show(in.Source))
	}
	if to.Info != nil {
		return nil, refusal.New(refusal.Exists, "%s exists already; a move replaces nothing", refusal.Show(in.Destination))
	}
	if len(to.Missing) > 0 {
		return nil, refusal.New(refusal.NotFound, "the directory of %s does not exist; create_directory makes it",
			refusal.Show(in.Destination))
	}
	if !from.Info.Mode().IsRegular() && !from.Info.IsDir() {
		return nil, refusal.New(refusal.NotAFile, "%s is %s; only files and directories are moved", refusal.Show(in.Source),
			place.Kind(from.Info.Mode()))
	}
	if from.Root == to.Root && strings.HasPrefix(to.Rel+"/", from.Rel+"/") {
		return nil, refusal.New(hashline.Invalid, "%s lies in %s", refusal.Show(in.Destination), refusal.Show(in.Source))
	}
	unlock, err := s.lock(ctx, from, to)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if from.Info.IsDir() {
		if err := s.checkMovable(ctx, from, to); err != nil {
			return nil, err
		}
	}
	for _, p := range []*place.Place{from, to} {
		if err := p.CheckUnmoved(); err != nil {
			return nil, err
		}
	}
	if from.Root == to.Root {
		err = moveSame(from, to)
	} else {
		err = s.copyAcross(from, to)
	}
	if err != nil {
		return nil, refusal.Of(in.Destination, err)
	}
	if err := errors.Join(syncDir(to.Parent()), syncDir(from.Parent())); err != nil {
		return nil, refusal.Of(in.Destination, err)
	}
	return &answer{text: fmt.Sprintf("moved %s to %s\n", refusal.Show(in.Source), refusal.Show(in.Destination)),
		structure: map[string]any{"source": from.Real(), "destination": to.Real()}}, nil
}

// moveSame moves within one allowed directory. The file that was checked is held open meanwhile; if
// something else was moved in its place, that is moved back.
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
	return errors.Join(refusal.New(refusal.IO, "%s was replaced while it was moved; try again", refusal.Show(from.Asked)),
		renameNew(to, from))
}

// checkMovable refuses a directory that holds something which rules forbid or protect, where it is or
// where it would be: a move must not be a way around the rules of the directories above.
func (s *Server) checkMovable(ctx context.Context, from, to *place.Place) error {
	dir, sets, err := from.OpenDirectory()
	if err != nil {
		return err
	}
	defer dir.Close()
	check := func(rel string, info fs.FileInfo, sets rules.Sets) error {
		there := path.Join(to.Rel, strings.TrimPrefix(rel, from.Rel))
		if _, ok := sets.Forbids(rel); ok {
			return refusal.New(refusal.Forbidden, "%s holds something that is forbidden; it cannot be moved as a whole",
				refusal.Show(from.Asked))
		}
		if _, ok := to.Rules.Forbids(there); ok {
			return refusal.New(refusal.Forbidden, "%s would hold something that is forbidden there", refusal.Show(to.Asked))
		}
		for _, side := range []struct {
			sets rules.Sets
			rel  string
			info fs.FileInfo
		}{{sets, rel, info}, {to.Rules, there, nil}} {
			if err := place.CheckWritableAt(side.sets, side.rel, side.info, from.Asked); err != nil {
				return err
			}
		}
		return nil
	}
	if err := check(from.Rel, from.Info, sets); err != nil {
		return err
	}
	return from.WalkAll(ctx, dir, sets, func(dir *os.Root, rel string, e fs.DirEntry, sets rules.Sets) error {
		if names.IsRepository(e.Name()) || names.IsGit(names.Holds(dir)) {
			return refusal.New(refusal.ReadOnly, "%s holds %s, a repository; it cannot be moved as a whole", refusal.Show(from.Asked),
				refusal.Show(rel))
		}
		info, err := dir.Lstat(e.Name())
		if err != nil {
			return refusal.Of(from.Asked, err)
		}
		return check(rel, info, sets)
	})
}

// copyAcross moves a file to another allowed directory, which may be another file system:
// copy, verify, delete. Directories are not moved so.
func (s *Server) copyAcross(from, to *place.Place) error {
	if from.Info.IsDir() {
		return refusal.New(hashline.Invalid, "%s is a directory; only files are moved from one allowed directory to another",
			refusal.Show(from.Asked))
	}
	f, info, err := from.Open(os.O_RDONLY)
	if err != nil {
		return err
	}
	defer f.Close()
	if countLinks(f) > 1 && !s.c.HardLinks {
		return refusal.New(refusal.HardLink, "%s has several names (hard links); the server moves such files only with --hard-links",
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

// removeVerified removes a file that has been copied, if its digest is still want. It renames the file
// first, so that the file that is removed is the one that was read, and a file that somebody else puts
// under the old name meanwhile stays. After an error both files exist.
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
		return refusal.New(hashline.Stale, "%s was changed while it was moved; both files are there now", refusal.Show(p.Asked))
	}
	return nil
}
