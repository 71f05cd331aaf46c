package archive

import (
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/spelling"
	"github.com/hallmark-mcp/hallmark/tree"
)

// OpenZip lists the regular files of the zip of size bytes in r, in byte order of their
// paths, and returns the function that opens them; what it opens gives exactly the
// declared size with the declared checksum or an error.
//
// A zip says nearly everything twice, and programs differ in which of the two they
// believe. It is refused unless both agree: the local headers, walked from the first
// byte, are the central directory, entry by entry, and every byte of the zip belongs to
// one of them or to one end record. See spec/archive-reading.md. It also refuses what
// [Walk] refuses.
func OpenZip(r io.ReaderAt, size int64, limits Limits) ([]tree.File, tree.Open, error) {
	return listZip(r, size, limits, &Names{})
}

// OpenPackageZip is [OpenZip] for an archive that the installer of another ecosystem
// unpacks, such as a wheel. Its names need pass [CheckInstalledPath] only: packages for one
// platform hold names that another platform does not allow.
func OpenPackageZip(r io.ReaderAt, size int64, limits Limits) ([]tree.File, tree.Open, error) {
	return listZip(r, size, limits, &Names{installed: true})
}

// listZip is OpenZip with the set that the names are added to.
func listZip(r io.ReaderAt, size int64, limits Limits, names *Names) ([]tree.File, tree.Open, error) {
	limits = limits.Effective()
	if size > limits.Packed {
		return nil, nil, tooLarge(layerArchive, limits.Packed)
	}
	z := &zipReader{r: r, limits: limits}
	end, err := z.findEnd(size)
	if err != nil {
		return nil, nil, err
	}
	entries, err := z.readDirectory(end)
	if err != nil {
		return nil, nil, err
	}
	if err := z.walkLocal(entries, end); err != nil {
		return nil, nil, err
	}
	files, byPath, err := z.listFiles(entries, names, size)
	if err != nil {
		return nil, nil, err
	}
	open := func(path string) (io.ReadCloser, error) {
		e := byPath[path]
		if e == nil {
			return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
		}
		return z.open(e), nil
	}
	return files, open, nil
}

// listFiles adds the entries of a zip of packed bytes to names, and returns the files among
// them in byte order of their paths, and each by its path.
func (z *zipReader) listFiles(
	entries []zipMember, names *Names, packed int64,
) (files []tree.File, byPath map[string]*zipMember, err error) {
	byPath = make(map[string]*zipMember, len(entries))
	unpacked := int64(0)
	for i := range entries {
		e := &entries[i]
		path, isDir := strings.CutSuffix(e.name, "/")
		if !names.installed && !spelling.IsASCII(e.name) && e.madeBy != madeByUnix && e.madeBy != madeByMac {
			return nil, nil, z.refuse(ProblemNotUTF8, e.name,
				"name is of a system whose alphabet some programs take it for, though it says that it is UTF-8")
		}
		if isDir {
			err = names.AddDir(path)
		} else {
			err = names.Add(path)
		}
		if err != nil {
			return nil, nil, withLayer(layerZip, err)
		}
		if err := names.checkCount(z.limits, layerZip); err != nil {
			return nil, nil, err
		}
		if unpacked += e.size; e.size > z.limits.Unpacked || unpacked > z.limits.Unpacked {
			return nil, nil, z.refuse(ProblemTooLarge, "", "more than %d bytes unpacked", z.limits.Unpacked)
		}
		if !isDir {
			files = append(files, tree.File{Path: path, Size: e.size, Exec: e.isExecutable()})
			byPath[path] = e
		}
	}
	if (unpacked-RatioFloor)/z.limits.Ratio > packed {
		return nil, nil, z.refuse(ProblemTooCompressed, "",
			"%d bytes packed give more than %d times as many", packed, z.limits.Ratio)
	}
	slices.SortFunc(files, func(a, b tree.File) int { return strings.Compare(a.Path, b.Path) })
	return files, byPath, nil
}
