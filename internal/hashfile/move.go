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
	"github.com/hallmark-mcp/hallmark/internal/hashfile/refusal"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/roots"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/rules"
)

func (s *Server) createDirectory(ctx context.Context, sc *roots.Scope, in pathArguments) (*answer, error) {
	p, err := resolve(sc, in.Path)
	if err != nil {
		return nil, err
	}
	defer p.close()
	if p.info != nil {
		if !p.info.IsDir() {
			return nil, refusal.New(refusal.Exists, "%s is %s", refusal.Show(in.Path), kindOf(p.info.Mode()))
		}
		return &answer{text: refusal.Show(in.Path) + " exists already\n",
			structure: map[string]any{"path": p.real(), "created": false}}, nil
	}
	if err := p.checkWritable(); err != nil {
		return nil, err
	}
	if names.IsGitPart(p.name) {
		unlock, err := s.lock(ctx, p)
		if err != nil {
			return nil, err
		}
		defer unlock()
	}
	if err := p.checkUnmoved(); err != nil {
		return nil, err
	}
	dir, closeAll := p.parent(), []func() error{}
	defer func() {
		for _, f := range closeAll {
			f()
		}
	}()
	for _, name := range append([]string{p.name}, p.missing...) {
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
		sub, err := openDir(dir, name)
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
		structure: map[string]any{"path": p.real(), "created": true}}, nil
}

type moveArguments struct {
	Source      string `json:"source" jsonschema:"file or directory to move"`
	Destination string `json:"destination" jsonschema:"its new path, where nothing may be"`
}

func (s *Server) moveFile(ctx context.Context, sc *roots.Scope, in moveArguments) (*answer, error) {
	from, err := resolve(sc, in.Source)
	if err != nil {
		return nil, err
	}
	defer from.close()
	to, err := resolve(sc, in.Destination)
	if err != nil {
		return nil, err
	}
	defer to.close()
	for _, p := range []*place{from, to} {
		if err := p.checkWritable(); err != nil {
			return nil, err
		}
	}
	if err := from.checkExists(); err != nil {
		return nil, err
	}
	if sc.HoldsRoot(from.real()) {
		return nil, refusal.New(refusal.ReadOnly, "%s is an allowed directory, or holds one", refusal.Show(in.Source))
	}
	if to.info != nil {
		return nil, refusal.New(refusal.Exists, "%s exists already; a move replaces nothing", refusal.Show(in.Destination))
	}
	if len(to.missing) > 0 {
		return nil, refusal.New(refusal.NotFound, "the directory of %s does not exist; create_directory makes it",
			refusal.Show(in.Destination))
	}
	if !from.info.Mode().IsRegular() && !from.info.IsDir() {
		return nil, refusal.New(refusal.NotAFile, "%s is %s; only files and directories are moved", refusal.Show(in.Source),
			kindOf(from.info.Mode()))
	}
	if from.root == to.root && strings.HasPrefix(to.rel+"/", from.rel+"/") {
		return nil, refusal.New(hashline.Invalid, "%s lies in %s", refusal.Show(in.Destination), refusal.Show(in.Source))
	}
	unlock, err := s.lock(ctx, from, to)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if from.info.IsDir() {
		if err := s.checkMovable(ctx, from, to); err != nil {
			return nil, err
		}
	}
	for _, p := range []*place{from, to} {
		if err := p.checkUnmoved(); err != nil {
			return nil, err
		}
	}
	if from.root == to.root {
		err = moveSame(from, to)
	} else {
		err = s.copyAcross(from, to)
	}
	if err != nil {
		return nil, refusal.Of(in.Destination, err)
	}
	if err := errors.Join(syncDir(to.parent()), syncDir(from.parent())); err != nil {
		return nil, refusal.Of(in.Destination, err)
	}
	return &answer{text: fmt.Sprintf("moved %s to %s\n", refusal.Show(in.Source), refusal.Show(in.Destination)),
		structure: map[string]any{"source": from.real(), "destination": to.real()}}, nil
}

// moveSame moves within one allowed directory. The file that was checked is held open meanwhile; if
// something else was moved in its place, that is moved back.
func moveSame(from, to *place) error {
	var held fs.FileInfo
	if from.info.IsDir() {
		dir, _, err := from.openDirectory()
		if err != nil {
			return err
		}
		defer dir.Close()
		if held, err = dir.Stat("."); err != nil {
			return err
		}
	} else {
		f, info, err := from.open(os.O_RDONLY)
		if err != nil {
			return err
		}
		defer f.Close()
		held = info
	}
	if err := renameNew(from, to); err != nil {
		return err
	}
	if now, err := to.parent().Lstat(to.name); err == nil && os.SameFile(now, held) {
		return nil
	}
	return errors.Join(refusal.New(refusal.IO, "%s was replaced while it was moved; try again", refusal.Show(from.asked)),
		renameNew(to, from))
}

// checkMovable refuses a directory that holds something which rules forbid or protect, where it is or
// where it would be: a move must not be a way around the rules of the directories above.
func (s *Server) checkMovable(ctx context.Context, from, to *place) error {
	dir, sets, err := from.openDirectory()
	if err != nil {
		return err
	}
	defer dir.Close()
	check := func(rel string, info fs.FileInfo, sets rules.Sets) error {
		there := path.Join(to.rel, strings.TrimPrefix(rel, from.rel))
		if _, ok := sets.Forbids(rel); ok {
			return refusal.New(refusal.Forbidden, "%s holds something that is forbidden; it cannot be moved as a whole",
				refusal.Show(from.asked))
		}
		if _, ok := to.rules.Forbids(there); ok {
			return refusal.New(refusal.Forbidden, "%s would hold something that is forbidden there", refusal.Show(to.asked))
		}
		for _, side := range []struct {
			sets rules.Sets
			rel  string
			info fs.FileInfo
		}{{sets, rel, info}, {to.rules, there, nil}} {
			if err := checkWritableAt(side.sets, side.rel, side.info, from.asked); err != nil {
				return err
			}
		}
		return nil
	}
	w := &treeWalk{ctx: ctx, all: true, visit: func(dir *os.Root, rel string, e fs.DirEntry, sets rules.Sets) error {
		if names.IsRepository(e.Name()) || names.IsGit(names.Holds(dir)) {
			return refusal.New(refusal.ReadOnly, "%s holds %s, a repository; it cannot be moved as a whole", refusal.Show(from.asked),
				refusal.Show(rel))
		}
		info, err := dir.Lstat(e.Name())
		if err != nil {
			return refusal.Of(from.asked, err)
		}
		return check(rel, info, sets)
	}}
	if err := check(from.rel, from.info, sets); err != nil {
		return err
	}
	return w.walkDirectory(dir, from.rel, sets, nil, 0)
}

// copyAcross moves a file to another allowed directory, which may be another file system:
// copy, verify, delete. Directories are not moved so.
func (s *Server) copyAcross(from, to *place) error {
	if from.info.IsDir() {
		return refusal.New(hashline.Invalid, "%s is a directory; only files are moved from one allowed directory to another",
			refusal.Show(from.asked))
	}
	f, info, err := from.open(os.O_RDONLY)
	if err != nil {
		return err
	}
	defer f.Close()
	if countLinks(f) > 1 && !s.c.HardLinks {
		return refusal.New(refusal.HardLink, "%s has several names (hard links); the server moves such files only with --hard-links",
			refusal.Show(from.asked))
	}
	temp := *to
	temp.name = tempName(to.name)
	temp.rel = path.Join(path.Dir(to.rel), temp.name)
	hasher := digest.NewHasher()
	written, err := writeTemp(to.parent(), temp.name, nil, func(out *os.File) error {
		if _, err := io.Copy(io.MultiWriter(out, hasher), f); err != nil {
			return err
		}
		return copyMetadata(f, out, info)
	})
	if err != nil {
		return err
	}
	defer written.Close()
	if temp.info, err = written.Stat(); err != nil {
		return err
	}
	if err := verifyCopy(&temp, hasher.Digest(digest.SHA256)); err != nil {
		to.parent().Remove(temp.name)
		return err
	}
	if err := renameNew(&temp, to); err != nil {
		to.parent().Remove(temp.name)
		return err
	}
	if err := syncDir(to.parent()); err != nil {
		return err
	}
	return removeVerified(from, hasher.Digest(digest.SHA256))
}

// removeVerified removes a file that has been copied, if its digest is still want. It renames the file
// first, so that the file that is removed is the one that was read, and a file that somebody else puts
// under the old name meanwhile stays. After an error both files exist.
func removeVerified(from *place, want digest.Digest) error {
	taken := *from
	taken.name = tempName(from.name)
	taken.rel = path.Join(path.Dir(from.rel), taken.name)
	if err := renameNew(from, &taken); err != nil {
		return err
	}
	var err error
	if taken.info, err = taken.parent().Lstat(taken.name); err == nil {
		err = verifyCopy(&taken, want)
	}
	if err == nil {
		return taken.parent().Remove(taken.name)
	}
	if back := renameNew(&taken, from); back != nil {
		return refusal.New(hashline.Stale,
			"%s was changed while it was moved; both files are there now, and what was changed is called %s",
			refusal.Show(from.asked), refusal.Show(taken.name))
	}
	return err
}

// verifyCopy reads a file again and fails if its digest is not want.
func verifyCopy(p *place, want digest.Digest) error {
	f, _, err := p.open(os.O_RDONLY)
	if err != nil {
		return err
	}
	defer f.Close()
	got, size, err := digest.FromReader(f)
	if err != nil {
		return err
	}
	e := evidence.Compare(evidence.Claim{Subject: p.asked, Scheme: evidence.File, Want: []digest.Digest{want}},
		evidence.Observed{Digests: []digest.Digest{got}, Size: size})
	if e.Outcome != evidence.Match {
		return refusal.New(hashline.Stale, "%s was changed while it was moved; both files are there now", refusal.Show(p.asked))
	}
	return nil
}
