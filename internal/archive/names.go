package archive

import (
	"fmt"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/spelling"
)

// Names is the set of paths of one archive. It refuses paths that some file system would
// put into one place: the same path twice, spellings that differ by case or Unicode
// normalisation only, in directories too, and a file that is also a directory. It also
// refuses a directory that git takes for a bare repository. The zero value is an empty set.
type Names struct {
	installed bool                         // paths must pass CheckInstalledPath, and case tells them apart
	seen      map[string]name              // by folded path
	parts     map[string]spelling.GitParts // that directories hold, by folded path
	entries   int                          // files and directories that were added
	implied   int                          // directories above them
}

// NewInstalledNames returns an empty set for what the installer of another ecosystem writes
// on one platform: paths must pass [CheckInstalledPath], and case tells them apart.
func NewInstalledNames() *Names { return &Names{installed: true} }

// name is a path of the set, as it was first spelled.
type name struct {
	path string
	dir  bool
}

// Add adds the path of a file, or returns an [*Error].
func (n *Names) Add(path string) error { return n.add(path, false) }

// AddDir adds the path of a directory, which may be there already.
func (n *Names) AddDir(path string) error { return n.add(path, true) }

func (n *Names) add(path string, dir bool) error {
	if n.seen == nil {
		n.seen, n.parts = map[string]name{}, map[string]spelling.GitParts{}
	}
	if err := checkPath(path, n.installed); err != nil {
		return err
	}
	n.entries++
	folded := spelling.Fold(path)
	key := folded
	if n.installed {
		key = path
	}
	depth := strings.Count(path, "/")
	if strings.Count(folded, "/") != depth {
		return &Error{Problem: ProblemAlias, Path: path, Detail: "path has another number of segments when folded"}
	}
	// From the top, so that the error names the highest directory concerned.
	at, keyAt, foldedAt := 0, 0, 0
	for range depth {
		at += strings.IndexByte(path[at:], '/')
		keyAt += strings.IndexByte(key[keyAt:], '/')
		foldedAt += strings.IndexByte(folded[foldedAt:], '/')
		added, err := n.addOne(key[:keyAt], folded[:foldedAt], name{path[:at], true}, path)
		if err != nil {
			return err
		}
		if added {
			n.implied++
		}
		at++
		keyAt++
		foldedAt++
	}
	_, err := n.addOne(key, folded, name{path, dir}, path)
	return err
}

// addOne adds one file or directory, which is path itself or above it. It reports whether the
// set did not have it yet.
func (n *Names) addOne(key, folded string, new name, path string) (added bool, err error) {
	old, ok := n.seen[key]
	switch {
	case !ok && n.makesGit(folded, new.dir):
		return false, &Error{Problem: ProblemRepository, Path: path,
			Detail: "path completes what git takes for a bare repository"}
	case !ok:
		n.seen[key] = new
		return true, nil
	case old.path != new.path:
		return false, &Error{Problem: ProblemAlias, Path: path,
			Detail: "path differs only in spelling from " + quote(old.path)}
	case old.dir != new.dir:
		return false, &Error{Problem: ProblemFileAndDir, Path: path,
			Detail: quote(old.path) + " is a file and a directory"}
	case !new.dir:
		return false, &Error{Problem: ProblemDuplicate, Path: path, Detail: "path is there twice"}
	}
	return false, nil
}

// makesGit notes a file or directory, by its folded path, and reports whether git takes the directory above it for a
// repository, which holds it now.
func (n *Names) makesGit(folded string, dir bool) bool {
	parent, name := "", folded
	if i := strings.LastIndexByte(folded, '/'); i >= 0 {
		parent, name = folded[:i], folded[i+1:]
	}
	part := spelling.GitPartOf(name)
	if part == 0 || part.IsDir() != dir {
		return false
	}
	n.parts[parent] |= part
	return n.parts[parent].MakeGit()
}

// checkCount refuses a set that has more names than limits allow.
func (n *Names) checkCount(limits Limits, layer string) error {
	if n.entries > limits.Entries || n.implied > limits.Entries {
		return &Error{Problem: ProblemTooManyEntries, Layer: layer,
			Detail: fmt.Sprintf("more than %d entries or directories", limits.Entries)}
	}
	return nil
}
