package engine

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/hallmark-mcp/hallmark/hashline"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
	"github.com/hallmark-mcp/hallmark/internal/spelling"
)

// Move moves or renames a file, directory or link to a path where nothing is.
func (e *Engine) Move(ctx context.Context, sc *place.Scope, source, destination string) error {
	from, err := resolveEnd(sc, source)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := resolveEnd(sc, destination)
	if err != nil {
		return err
	}
	defer to.Close()
	if err := checkEnds(sc, from, to, source, destination); err != nil {
		return err
	}
	unlock, err := e.writer.Lock(ctx, from, to)
	if err != nil {
		return err
	}
	defer unlock()
	if from.Info.IsDir() {
		if err := e.checkMovable(ctx, from, to); err != nil {
			return err
		}
	}
	if err := e.writer.Move(from, to); err != nil {
		asked := destination
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrExist) { // the system does not say at which end
			asked = "moving " + source + " to " + destination
		}
		return place.RefusalOf(asked, err)
	}
	e.reader.Forget(from)
	e.reader.Forget(to)
	return nil
}

// checkEnds refuses a move from or to a place where that is not possible.
func checkEnds(sc *place.Scope, from, to *place.Place, source, destination string) error {
	for _, p := range []*place.Place{from, to} {
		if err := p.CheckWritable(); err != nil {
			return err
		}
	}
	if err := from.CheckExists(); err != nil {
		return err
	}
	if sc.HoldsRoot(from.Real()) {
		return place.Refuse(place.ReadOnly, "%s is an allowed directory, holds one, or is on its path",
			place.Show(source))
	}
	if to.Info != nil {
		return refuseOccupied(from, to)
	}
	if err := to.CheckName(); err != nil {
		return err
	}
	if len(to.Missing) > 0 {
		return refuseNoDirectory(to)
	}
	if kind := from.Info.Mode().Type(); kind&^(fs.ModeDir|fs.ModeSymlink) != 0 {
		return place.Refuse(place.NotAFile, "%s is %s; only files, directories and links are moved",
			place.Show(source), place.Kind(from.Info.Mode()))
	}
	if !from.Info.IsDir() && namesDirectory(destination) {
		return refuseDirectoryName(destination)
	}
	if from.Root == to.Root && strings.HasPrefix(to.Rel+"/", from.Rel+"/") {
		return place.Refuse(hashline.Invalid, "%s lies in %s, and a directory is not moved into itself; give a "+
			"destination outside of it", place.Show(destination), place.Show(source))
	}
	return nil
}

// refuseOccupied refuses a move to a place where something is.
func refuseOccupied(from, to *place.Place) *place.Refusal {
	switch {
	case to.Real() == from.Real():
		return place.Refuse(place.Exists, "%s and %s are the same place; nothing was moved", place.Show(from.Asked),
			place.Show(to.Asked))
	case to.Info.IsDir():
		return place.Refuse(place.Exists, "%s exists already, as a directory; to move into it, give the destination %s",
			place.Show(to.Asked), place.Show(filepath.Join(to.Asked, from.Name)))
	}
	return place.Refuse(place.Exists, "%s exists already, and a move replaces nothing; give another destination, or "+
		"move what is there away first", place.Show(to.Asked))
}

// resolveEnd finds one end of a move. A link is moved itself, and so its own path counts. Where it leads must be a
// place that may be written, too, whether something is there or not: to the server, a link that leads elsewhere is not
// there.
func resolveEnd(sc *place.Scope, asked string) (*place.Place, error) {
	p, err := place.ResolveName(sc, asked)
	if err != nil || p.Info == nil || p.Info.Mode()&fs.ModeSymlink == 0 {
		return p, err
	}
	target, err := place.Resolve(sc, asked)
	if err == nil {
		now, gone := p.Parent().Lstat(p.Name)
		if gone != nil || !os.SameFile(now, p.Info) || target.Real() == p.Real() { // something else was followed
			err = place.Refuse(place.IO, "%s was replaced meanwhile; try again", place.Show(asked))
		} else {
			err = target.CheckWritable()
		}
		target.Close()
	}
	if err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// checkMovable refuses a directory that holds something which rules forbid or protect, where it is or where it would
// be: a move must not be a way around the rules of the directories above.
func (e *Engine) checkMovable(ctx context.Context, from, to *place.Place) error {
	dir, sets, err := from.OpenDirectory()
	if err != nil {
		return err
	}
	defer dir.Close()
	check := func(rel string, info fs.FileInfo, sets place.RuleSets) error {
		there := path.Join(to.Rel, strings.TrimPrefix(rel, from.Rel))
		if _, ok := sets.Forbids(rel); ok {
			return place.Refuse(place.Forbidden, "%s holds something that is forbidden; it cannot be moved as a whole",
				place.Show(from.Asked))
		}
		if _, ok := to.Rules.Forbids(there); ok {
			return place.Refuse(place.Forbidden, "%s would hold something that is forbidden there",
				place.Show(to.Asked))
		}
		for _, side := range []struct {
			sets place.RuleSets
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
	return from.WalkAll(ctx, dir, sets, func(dir *os.Root, rel string, e fs.DirEntry, sets place.RuleSets) error {
		if spelling.IsRepository(e.Name()) || place.IsGit(place.Holds(dir)) {
			return place.Refuse(place.ReadOnly, "%s holds %s, a repository; it cannot be moved as a whole",
				place.Show(from.Asked), place.Show(rel))
		}
		info, err := dir.Lstat(e.Name())
		if err != nil {
			return place.RefusalOf(from.Asked, err)
		}
		return check(rel, info, sets)
	})
}
