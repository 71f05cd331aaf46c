package local

import (
	"context"
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

// treeKind is a kind of directory that is hashed as a whole, as one artifact.
type treeKind struct {
	// skip reports whether to leave out an entry. rel is its path in the directory, with slashes.
	skip func(rel string, dir bool) bool
	// nested is the name of directories, beside and above the target of a link out of the tree, that code
	// is loaded from too; "" if there are none.
	nested string
}

// nodePackages is node_modules without the files that package managers keep for themselves.
var nodePackages = &treeKind{nested: "node_modules", skip: func(rel string, _ bool) bool {
	top := !strings.ContainsRune(rel, '/')
	return path.Base(rel) == ".bin" || top && strings.HasPrefix(rel, ".") && rel != ".pnpm" ||
		top && rel == "node_modules" // addTree adds that of a package that a link leads to
}}

// treeEntry is a file of a tree, or a link in it.
type treeEntry struct {
	path string // relative, with slashes
	size int64
	link string // where it leads, as it is written
}

// listTree lists the files of a tree, and the targets of links that lead out of it.
func listTree(dir string, kind *treeKind) (files []treeEntry, outside []string, err error) {
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

// Bounds of one tree.
const (
	maxTreeFiles = 200_000
	maxTreeBytes = 2 << 30
)

// tooLargeError says that a tree is too large to be hashed at each start.
func tooLargeError(dir string) error {
	return fmt.Errorf("%w: %s has more than %d files or %d bytes", tree.ErrTooLarge, dir, maxTreeFiles, maxTreeBytes)
}

// linkText is what is hashed in place of a link. No text file begins like it.
func linkText(target string) string { return "\x00link\x00" + filepath.ToSlash(target) }

// hashTree returns the fingerprint hallmark-tree-v1 of a directory. Links count as files, and no file as
// executable, since the interpreter reads them all.
func hashTree(ctx context.Context, dir string, kind *treeKind) (o evidence.Observed, err error) {
	entries, _, err := listTree(dir, kind)
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
