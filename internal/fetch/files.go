package fetch

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/archive"
)

// maxFiles bounds the files of a package of which digests are held.
const maxFiles = 100_000

// FileChange is a file that differs between two versions of a package.
type FileChange struct {
	Path string `json:"path"` // below the package's own directory
	Old  *int64 `json:"old"`  // its size in bytes; nil if it was not there
	New  *int64 `json:"new"`  // its size in bytes; nil if it is not there any more
}

// Kind is "added", "removed" or "changed".
func (c FileChange) Kind() string {
	switch {
	case c.Old == nil:
		return "added"
	case c.New == nil:
		return "removed"
	}
	return "changed"
}

// Moved is by how many bytes the file differs at least: what came, went, or grew or shrank.
func (c FileChange) Moved() int64 {
	switch {
	case c.Old == nil:
		return *c.New
	case c.New == nil:
		return *c.Old
	}
	return max(*c.New-*c.Old, *c.Old-*c.New)
}

// File is what a file of a package holds.
type File struct {
	Sum  digest.Digest
	Size int64 // bytes
}

// CompareFiles lists the files that differ between two versions of a package, by path.
func CompareFiles(before, after map[string]File) []FileChange {
	var changes []FileChange
	for path, was := range before {
		is, ok := after[path]
		switch {
		case !ok:
			changes = append(changes, FileChange{path, &was.Size, nil})
		case !evidence.Same(was.Sum, is.Sum):
			changes = append(changes, FileChange{path, &was.Size, &is.Size})
		}
	}
	for path, is := range after {
		if _, ok := before[path]; !ok {
			changes = append(changes, FileChange{path, nil, &is.Size})
		}
	}
	slices.SortFunc(changes, func(a, b FileChange) int { return strings.Compare(a.Path, b.Path) })
	return changes
}

// fileLister hashes the files of a package.
type fileLister map[string]File

func (l fileLister) add(path string, r io.Reader) error {
	sum, size, err := digest.FromReader(r)
	if l[path] = (File{sum, size}); len(l) > maxFiles {
		return fmt.Errorf("has more than %s files", evidence.Group(maxFiles))
	}
	return err
}

// ListTarball hashes the files of an npm tarball. Paths are without the directory at their top, which npm does not
// keep.
func ListTarball(name string) (map[string]File, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	files := fileLister{}
	limits := archive.Limits{Packed: 1 << 40, Unpacked: maxUnpacked, Ratio: 1 << 40, Entries: maxFiles}
	_, err = archive.Walk(f, archive.Package, limits, func(e archive.Entry, r io.Reader) error {
		_, path, _ := strings.Cut(e.Path, "/")
		return files.add(path, r)
	})
	return files, err
}

// ListWheel hashes the files of a wheel, but for RECORD, which follows from them. The directories that are called by
// the wheel's name and version are "dist-info" and "data".
func ListWheel(name string) (map[string]File, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := openZip(f, maxWheelList)
	if err != nil {
		return nil, err
	}
	files := fileLister{}
	for _, path := range z.paths {
		top, rest, _ := strings.Cut(path, "/")
		if kind := top[strings.LastIndexByte(top, '.')+1:]; len(kind) < len(top) &&
			(kind == "dist-info" || kind == "data") {
			top = kind
		}
		if top == "dist-info" && rest == "RECORD" {
			continue
		}
		r, err := z.open(path)
		if err == nil {
			err = errors.Join(files.add(strings.TrimSuffix(top+"/"+rest, "/"), r), r.Close())
		}
		if err != nil {
			return nil, err
		}
	}
	return files, nil
}
