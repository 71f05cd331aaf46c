package facet

import (
	"errors"
	"io"

	"github.com/hallmark-mcp/hallmark/internal/archive"
	"github.com/hallmark-mcp/hallmark/tree"
)

// splitArchives separates the files that are archives of this format, whatever their names, from the
// rest. What an earlier packing left in a directory would otherwise be packed with it, and the same
// sources would give another fingerprint each time.
func splitArchives(files []tree.File, open tree.Open) (rest []tree.File, archives []string, err error) {
	for _, f := range files {
		is, err := isArchive(f, open)
		if err != nil {
			return nil, nil, err
		}
		if is {
			archives = append(archives, f.Path)
			continue
		}
		rest = append(rest, f)
	}
	return rest, archives, nil
}

// isArchive reports whether a file begins as an archive does, and has a size that one can have.
func isArchive(f tree.File, open tree.Open) (bool, error) {
	if f.Size == 0 || f.Size%tree.TarRecord != 0 {
		return false, nil
	}
	r, err := open(f.Path)
	if err != nil {
		return false, err
	}
	defer r.Close()
	head := make([]byte, archive.FacetHead)
	_, err = io.ReadFull(r, head)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return false, nil // it was cut meanwhile, which packing reports
	}
	return err == nil && archive.IsFacet(head), err
}

// nestedError is the error for a facet that names archives among its files.
func nestedError(archives []string) error {
	var p problems
	for _, path := range archives {
		p.add(path, "is an archive that 'hallmark pack' wrote, which is no file of a facet")
	}
	return p.asError("facet")
}
