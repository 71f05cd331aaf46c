package publish

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/facet"
	"github.com/hallmark-mcp/hallmark/tree"
)

// DirError names the directory that an error is about, and classes an unfit member or size as a
// mistake of its author.
func DirError(where string, err error) error {
	kind := evidence.ClassOf(err)
	if errors.As(err, new(*tree.EntryError)) || errors.Is(err, tree.ErrTooLarge) {
		kind = evidence.Validation
	}
	return evidence.Errorf(kind, where, "", err)
}

// SourceDir is the directory of a facet or server that is packed.
type SourceDir struct {
	Root  *os.Root
	Files []tree.File // set by List

	output string // the archive that is written, which is not a member of itself
}

// contentDirs are the directories of a facet that are listed in full, so that files which
// facet.json forgot are reported.
var contentDirs = []string{"skills", "agents", "commands"}

// versionDirs are the directories of version control, which are not packed.
var versionDirs = []string{".git", ".hg", ".svn", ".jj"}

// List sets Files to the files that may belong to the archive: for a facet those that facet.json
// names and all of its content directories, for a server all files.
func (d *SourceDir) List() error {
	raw, err := d.readFile(facet.ManifestFile)
	if errors.Is(err, fs.ErrNotExist) {
		return d.listServer()
	}
	if err != nil {
		return err
	}
	m, err := facet.ParseManifest(raw)
	if err != nil {
		return err
	}
	byPath := map[string]tree.File{}
	refused := map[string]*tree.EntryError{}
	for _, dir := range contentDirs {
		if err := d.listContents(dir, byPath, refused); err != nil {
			return err
		}
	}
	var failed []error
	for _, path := range m.Paths() {
		if _, ok := byPath[path]; ok {
			continue
		}
		f, err := d.statFile(path, refused)
		switch {
		case err == nil:
			byPath[path] = f
		case !errors.Is(err, fs.ErrNotExist): // package facet reports all missing files together
			failed = append(failed, err)
		}
	}
	for _, f := range byPath {
		d.Files = append(d.Files, f)
	}
	return errors.Join(failed...)
}

// listContents adds the files below a content directory, and what is there besides files, by their paths.
func (d *SourceDir) listContents(dir string, byPath map[string]tree.File, refused map[string]*tree.EntryError) error {
	info, err := d.Root.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !info.IsDir() {
		refused[dir] = &tree.EntryError{Path: dir, Kind: tree.Kind(info.Mode())}
		return nil
	}
	below, err := fs.Sub(d.Root.FS(), dir)
	if err != nil {
		return err
	}
	files, others, err := tree.Scan(below, tree.Limits{})
	if err != nil {
		return err
	}
	for _, f := range files {
		f.Path = dir + "/" + f.Path
		byPath[f.Path] = f
	}
	for _, e := range others {
		refused[dir+"/"+e.Path] = &tree.EntryError{Path: dir + "/" + e.Path, Kind: e.Kind}
	}
	return nil
}

// statFile returns one regular file. It refuses a link on the way to the file, which may lead
// outside of the directory, and elsewhere tomorrow.
func (d *SourceDir) statFile(path string, refused map[string]*tree.EntryError) (tree.File, error) {
	for i := range len(path) + 1 {
		if i < len(path) && path[i] != '/' {
			continue
		}
		if e, ok := refused[path[:i]]; ok {
			return tree.File{}, e
		}
		info, err := d.Root.Lstat(path[:i])
		if err != nil {
			return tree.File{}, err
		}
		if i == len(path) && info.Mode().IsRegular() {
			return tree.File{Path: path, Size: info.Size()}, nil
		}
		if !info.IsDir() || i == len(path) {
			return tree.File{}, &tree.EntryError{Path: path[:i], Kind: tree.Kind(info.Mode())}
		}
	}
	return tree.File{}, fs.ErrNotExist
}

// listServer sets Files to all files, without those of version control and the archive itself.
func (d *SourceDir) listServer() error {
	if _, err := d.Root.Lstat(facet.SourceFile); errors.Is(err, fs.ErrNotExist) {
		return evidence.Errorf(evidence.Validation, "",
			"write facet.json, which says what a facet delivers: docs/facets.md shows one",
			fmt.Errorf("holds neither %s nor %s", facet.ManifestFile, facet.SourceFile))
	}
	files, refused, err := tree.Scan(d.Root.FS(), tree.Limits{})
	if err != nil {
		return err
	}
	outside := func(path string) bool {
		first, _, below := strings.Cut(path, "/")
		return below && slices.Contains(versionDirs, first)
	}
	var failed []error
	for _, e := range refused {
		if !outside(e.Path) {
			failed = append(failed, e)
		}
	}
	output, _ := os.Stat(d.output) // an archive of an earlier run
	for _, f := range files {
		if outside(f.Path) {
			continue
		}
		if output != nil {
			if info, err := d.Root.Lstat(f.Path); err == nil && os.SameFile(info, output) {
				continue
			}
		}
		d.Files = append(d.Files, f)
	}
	return errors.Join(failed...)
}

// Open opens a listed file, and fails if it is no regular file any more.
func (d *SourceDir) Open(path string) (io.ReadCloser, error) {
	f, err := d.Root.Open(path)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(fmt.Errorf("%+q: %w", path, tree.ErrChanged), err, f.Close())
	}
	return f, nil
}

// readFile reads a manifest of the directory.
func (d *SourceDir) readFile(path string) ([]byte, error) {
	info, err := d.Root.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &tree.EntryError{Path: path, Kind: tree.Kind(info.Mode())}
	}
	f, err := d.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, facet.MaxManifest+1))
}
