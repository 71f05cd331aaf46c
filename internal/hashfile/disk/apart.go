package disk

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/refusal"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/roots"
)

// checkApart refuses a place in the directory of the locks, as an allowed directory may hold that, and one on its path.
// Notes are done without asking what is allowed: who could write one, or put a directory with one there, could have a
// server remove and rename files that no rule lets be changed.
func (w *Writer) checkApart(p *place.Place) error {
	given, real, links := w.findLocks()
	if isIn(given, p.Real()) || isIn(real, p.Real()) || w.isInside(p) {
		return apartProblem(p)
	}
	for _, path := range append(links, given, real) {
		if isIn(p.Real(), path) {
			return apartProblem(p)
		}
	}
	if p.Info == nil || !p.Info.IsDir() {
		return nil
	}
	for at := real; ; at = filepath.Dir(at) { // by another path, as of a mount
		if info, err := os.Stat(at); err == nil && os.SameFile(info, p.Info) {
			return apartProblem(p)
		}
		if at == filepath.Dir(at) {
			return nil
		}
	}
}

// checkOutside is checkApart for a new directory, which may be on the path.
func (w *Writer) checkOutside(p *place.Place) error {
	given, real, _ := w.findLocks()
	if isIn(given, p.Real()) || isIn(real, p.Real()) || w.isInside(p) {
		return apartProblem(p)
	}
	return nil
}

// findLocks returns the path of the directory of the locks, which need not exist: as it is given, without links, and
// the links on the way.
func (w *Writer) findLocks() (given, real string, links []string) {
	given, err := filepath.Abs(w.locks)
	if err != nil {
		return w.locks, w.locks, nil
	}
	for at, rest := given, ""; ; at, rest = filepath.Dir(at), filepath.Join(filepath.Base(at), rest) {
		if real, links, err = roots.FollowPath(at); err == nil {
			return given, filepath.Join(real, rest), links
		}
		if at == filepath.Dir(at) {
			return given, given, nil
		}
	}
}

// isInside reports whether the place is in the directory of the locks as it exists, whatever its path is.
func (w *Writer) isInside(p *place.Place) bool {
	locks, err := os.Stat(w.locks)
	return err == nil && p.IsBelow(locks)
}

// isIn reports whether a path is a directory or below it. Letter case does not count.
func isIn(dir, path string) bool {
	_, ok := roots.CutDir(strings.ToLower(dir), strings.ToLower(path))
	return ok
}

func apartProblem(p *place.Place) *refusal.Refusal {
	return refusal.New(refusal.ReadOnly, "%s is not changed: it is part of the directory in which the server keeps its "+
		"locks, or on the path of that", refusal.Show(p.Asked))
}
