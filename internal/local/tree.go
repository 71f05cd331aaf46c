package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/tree"
)

// treeKind is a kind of directory that is covered as a whole, as one artifact.
type treeKind struct {
	// skip reports whether an entry is no code of it: rel is its path with slashes.
	skip func(rel string, dir bool) bool
	// nested is the name of the directories beside what links lead to that are loaded from too.
	nested string
}

// nodePackages is node_modules without what package managers keep for themselves.
var nodePackages = &treeKind{nested: "node_modules", skip: func(rel string, _ bool) bool {
	top := !strings.ContainsRune(rel, '/')
	return path.Base(rel) == ".bin" || top && strings.HasPrefix(rel, ".") && rel != ".pnpm" ||
		top && rel == "node_modules" // of a package that a link leads to; it is one of its own
}}

// addTree takes a directory if it is there, and what the links in it lead to.
func (r *readSet) addTree(dir string, kind *treeKind) error {
	real, err := filepath.EvalSymlinks(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil || r.taken[real] {
		return err
	}
	if info, err := os.Stat(real); err != nil || !info.IsDir() {
		return err
	}
	r.taken[real] = true
	r.addItem(r.w.LockKey(real, relativePath(r.w, real)), readItem{path: real, kind: kind})
	_, outside, err := treeFiles(real, kind)
	if err != nil {
		return err
	}
	for _, target := range outside {
		info, err := os.Stat(target)
		if err != nil {
			return err
		}
		if !info.IsDir() {
			_, err = r.addFile(target)
		} else if err = r.addTree(target, kind); err == nil && kind.nested != "" {
			for dir := target; err == nil && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
				err = r.addTree(filepath.Join(dir, kind.nested), kind)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// treeEntry is a file of a directory that is covered as a whole, or a link in it.
type treeEntry struct {
	path string // relative, with slashes
	size int64
	link string // where it leads, as it is written
}

// treeFiles lists what is covered of a directory, and the targets of links that lead out of it.
func treeFiles(dir string, kind *treeKind) (files []treeEntry, outside []string, err error) {
	var bytes int64
	err = filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || name == dir {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		skip := kind.skip(rel, e.IsDir())
		switch {
		case skip && e.IsDir():
			return fs.SkipDir
		case skip || e.IsDir():
			return nil
		}
		entry := treeEntry{path: rel}
		if e.Type()&fs.ModeSymlink != 0 {
			if entry.link, err = os.Readlink(name); err != nil {
				return err
			}
			entry.size = int64(len(linkText(entry.link)))
			real, err := filepath.EvalSymlinks(name)
			if inside, _ := filepath.Rel(dir, real); err == nil && !filepath.IsLocal(inside) {
				outside = append(outside, real)
			}
		} else {
			info, err := e.Info()
			if err != nil {
				return err
			}
			if entry.size = info.Size(); !info.Mode().IsRegular() {
				return &tree.EntryError{Path: entry.path, Kind: tree.Kind(info.Mode())}
			}
		}
		files = append(files, entry)
		if bytes += entry.size; len(files) > maxTreeFiles || bytes > maxTreeBytes {
			return tooLargeError(dir)
		}
		return nil
	})
	return files, outside, err
}

// Bounds of one such directory.
const (
	maxTreeFiles = 200_000
	maxTreeBytes = 2 << 30
)

// tooLargeError says that a tree is beyond what is hashed at each start.
func tooLargeError(dir string) error {
	return fmt.Errorf("%w: %s has more than %d files or %d bytes", tree.ErrTooLarge, dir, maxTreeFiles, maxTreeBytes)
}

// linkText stands for a link among files: no file of text begins like it.
func linkText(target string) string { return "\x00link\x00" + filepath.ToSlash(target) }

// hashTree is the fingerprint hallmark-tree-v1 of a directory. Links count as files, and no file as
// executable: the interpreter reads them all.
func hashTree(ctx context.Context, dir string, kind *treeKind) (o evidence.Observed, err error) {
	entries, _, err := treeFiles(dir, kind)
	if err != nil {
		return o, evidence.Errorf(evidence.Refused, dir, "", err)
	}
	files, links := make([]tree.File, len(entries)), map[string]string{}
	for i, e := range entries {
		files[i] = tree.File{Path: e.path, Size: e.size}
		if e.link != "" {
			links[e.path] = linkText(e.link)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return o, err
	}
	defer root.Close()
	below := tree.OpenFS(root.FS())
	d, size, err := tree.V1(ctx, files, func(path string) (io.ReadCloser, error) {
		if text, ok := links[path]; ok {
			return io.NopCloser(strings.NewReader(text)), nil
		}
		return below(path)
	}, runtime.GOMAXPROCS(0))
	if err != nil {
		return o, evidence.Errorf(evidence.Operation, dir, "", err)
	}
	return evidence.Observed{Digests: []digest.Digest{d}, Size: size, From: dir}, nil
}
