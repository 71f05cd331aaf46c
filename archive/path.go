package archive

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Limits of a path in an archive.
const (
	MaxPath  = 1024 // bytes
	MaxDepth = 64   // directories above a file
)

// CheckPath reports why path cannot be extracted below a directory on every platform,
// or nil: it is relative and clean, valid UTF-8 without control characters, backslashes
// and what Windows reserves. The error is an [*Error].
func CheckPath(path string) error {
	bad := func(p Problem, format string, args ...any) error {
		return &Error{Problem: p, Path: path, Detail: "path " + fmt.Sprintf(format, args...)}
	}
	switch {
	case !utf8.ValidString(path):
		return bad(ProblemNotUTF8, "is not UTF-8")
	case strings.ContainsFunc(path, unicode.IsControl):
		return bad(ProblemControl, "holds a control character")
	case strings.Contains(path, `\`):
		return bad(ProblemBackslash, "holds a backslash")
	case strings.HasPrefix(path, "/"):
		return bad(ProblemAbsolute, "is absolute")
	case len(path) >= 2 && path[1] == ':' && 'a' <= path[0]|0x20 && path[0]|0x20 <= 'z':
		return bad(ProblemDrive, "begins with a drive")
	case strings.ContainsAny(path, `<>:"|?*`):
		return bad(ProblemReserved, "holds a character that Windows reserves")
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
		case strings.HasSuffix(segment, ".") || strings.HasSuffix(segment, " "):
			return bad(ProblemTrailingDot, "has a segment that ends with a dot or a space")
		case device(segment):
			return bad(ProblemDeviceName, "has a segment that Windows takes for a device")
		}
	}
	return nil
}

// device reports whether Windows opens a device under the name segment, whatever its
// extension.
func device(segment string) bool {
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

// Names is the set of paths of one archive. It refuses what some file system would
// put into one place: the same path twice, spellings that differ by case or Unicode
// normalisation only, in directories too, and a file that is also a directory. The zero
// value is an empty set.
type Names struct {
	fold    cases.Caser
	seen    map[string]name // by folded path
	entries int             // files and directories that were added
	implied int             // directories above them
}

type name struct {
	path string
	dir  bool
}

// Add adds the path of a file, or returns an [*Error].
func (n *Names) Add(path string) error { return n.add(path, false) }

// addDir adds the path of a directory, which may be there already.
func (n *Names) addDir(path string) error { return n.add(path, true) }

func (n *Names) add(path string, dir bool) error {
	if err := CheckPath(path); err != nil {
		return err
	}
	if n.seen == nil {
		n.seen, n.fold = map[string]name{}, cases.Fold()
	}
	n.entries++
	folded := n.folded(path)
	depth := strings.Count(path, "/")
	if strings.Count(folded, "/") != depth {
		return &Error{Problem: ProblemAlias, Path: path, Detail: "path has another number of segments when folded"}
	}
	// From the top, so that the error names the highest directory concerned.
	at, foldedAt := 0, 0
	for range depth {
		at += strings.IndexByte(path[at:], '/')
		foldedAt += strings.IndexByte(folded[foldedAt:], '/')
		added, err := n.put(folded[:foldedAt], name{path[:at], true}, path)
		if err != nil {
			return err
		}
		if added {
			n.implied++
		}
		at++
		foldedAt++
	}
	_, err := n.put(folded, name{path, dir}, path)
	return err
}

// put takes one file or directory on the way to path into the set.
func (n *Names) put(folded string, new name, path string) (added bool, err error) {
	old, ok := n.seen[folded]
	switch {
	case !ok:
		n.seen[folded] = new
		return true, nil
	case old.path != new.path:
		return false, &Error{Problem: ProblemAlias, Path: path, Detail: "path differs only in spelling from " + quote(old.path)}
	case old.dir != new.dir:
		return false, &Error{Problem: ProblemFileAndDir, Path: path, Detail: quote(old.path) + " is a file and a directory"}
	case !new.dir:
		return false, &Error{Problem: ProblemDuplicate, Path: path, Detail: "path is there twice"}
	}
	return false, nil
}

// folded is the same for all spellings of path that are one under canonical caseless
// matching.
func (n *Names) folded(path string) string {
	ascii := true
	for i := range len(path) {
		ascii = ascii && path[i] < utf8.RuneSelf
	}
	if ascii {
		return strings.ToLower(path)
	}
	return norm.NFC.String(n.fold.String(norm.NFD.String(path)))
}
