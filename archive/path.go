package archive

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of a path in an archive.
const (
	MaxPath  = 1024 // bytes
	MaxDepth = 64   // directories above a file
)

// CheckPath reports why path cannot be extracted below a directory on every platform,
// or nil: it is relative and clean, valid UTF-8 without characters that are not seen,
// backslashes and what Windows reserves, and no program takes a part of it for a
// repository. The error is an [*Error]. The rules stand in spec/paths.md.
func CheckPath(path string) error { return checkPath(path, newCaseFolder(), false) }

// CheckInstalledPath is [CheckPath] for a file that the installer of another ecosystem writes
// on one platform: names that only another platform cannot hold are accepted.
func CheckInstalledPath(path string) error { return checkPath(path, newCaseFolder(), true) }

func checkPath(path string, f *caseFolder, installed bool) error {
	bad := func(p Problem, format string, args ...any) error {
		return &Error{Problem: p, Path: path, Detail: "path " + fmt.Sprintf(format, args...)}
	}
	switch {
	case !utf8.ValidString(path):
		return bad(ProblemNotUTF8, "is not UTF-8")
	case strings.ContainsFunc(path, unicode.IsControl):
		return bad(ProblemControl, "holds a control character")
	case strings.HasPrefix(path, "/"):
		return bad(ProblemAbsolute, "is absolute")
	case len(path) >= 2 && path[1] == ':' && 'a' <= path[0]|0x20 && path[0]|0x20 <= 'z':
		return bad(ProblemDrive, "begins with a drive")
	}
	for segment := range strings.SplitSeq(path, "/") {
		if f.repositoryName(segment) {
			return bad(ProblemRepository, "has a segment that a program takes for a repository")
		}
	}
	switch {
	case strings.Contains(path, `\`):
		return bad(ProblemBackslash, "holds a backslash")
	case !installed && strings.ContainsAny(path, `<>:"|?*`):
		return bad(ProblemReserved, "holds a character that Windows reserves")
	case strings.ContainsFunc(path, isInvisible):
		return bad(ProblemInvisible, "holds a character that is not seen")
	case len(path) > MaxPath:
		return bad(ProblemLongPath, "has more than %d bytes", MaxPath)
	case strings.Count(path, "/") > MaxDepth:
		return bad(ProblemLongPath, "is more than %d directories deep", MaxDepth)
	}
	for segment := range strings.SplitSeq(path, "/") {
		switch {
		case segment == "..":
			return bad(ProblemParent, "leaves the archive")
		case segment == "" || segment == ".":
			return bad(ProblemUnclean, "has an empty segment or one that is a dot")
		case installed:
		case strings.HasSuffix(segment, ".") || strings.HasSuffix(segment, " "):
			return bad(ProblemTrailingDot, "has a segment that ends with a dot or a space")
		case isDeviceName(segment):
			return bad(ProblemDeviceName, "has a segment that Windows takes for a device")
		}
	}
	return nil
}

// isDeviceName reports whether Windows opens a device under the name segment, whatever its
// extension.
func isDeviceName(segment string) bool {
	stem, _, _ := strings.Cut(segment, ".")
	stem = strings.ToLower(strings.TrimRight(stem, " "))
	switch stem {
	case "con", "prn", "aux", "nul", "conin$", "conout$":
		return true
	}
	number, ok := strings.CutPrefix(stem, "com")
	if !ok {
		number, ok = strings.CutPrefix(stem, "lpt")
	}
	return ok && utf8.RuneCountInString(number) == 1 && strings.ContainsAny(number, "0123456789¹²³")
}

// Names is the set of paths of one archive. It refuses paths that some file system would
// put into one place: the same path twice, spellings that differ by case or Unicode
// normalisation only, in directories too, and a file that is also a directory. It also
// refuses a directory that git takes for a bare repository. The zero value is an empty set.
type Names struct {
	installed bool // paths must pass CheckInstalledPath, and case tells them apart
	fold      *caseFolder
	seen      map[string]name // by folded path
	bare      bareSigns
	entries   int // files and directories that were added
	implied   int // directories above them
}

// NewInstalledNames returns an empty set for what the installer of another ecosystem writes
// on one platform: paths must pass [CheckInstalledPath], and case tells them apart.
func NewInstalledNames() *Names { return &Names{installed: true} }

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
		n.seen, n.bare, n.fold = map[string]name{}, bareSigns{}, newCaseFolder()
	}
	if err := checkPath(path, n.fold, n.installed); err != nil {
		return err
	}
	n.entries++
	folded := n.fold.fold(path)
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

// addOne takes one file or directory on the way to path into the set.
func (n *Names) addOne(key, folded string, new name, path string) (added bool, err error) {
	old, ok := n.seen[key]
	switch {
	case !ok && n.bare.addSign(folded, new.dir):
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
