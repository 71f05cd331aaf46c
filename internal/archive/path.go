package archive

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hallmark-mcp/hallmark/internal/spelling"
)

// Limits of a path in an archive.
const (
	MaxPath  = 1024 // bytes
	MaxDepth = 64   // directories above a file
)

// CheckPath reports why path cannot be extracted below a directory on every platform,
// or nil: it is relative and clean, valid UTF-8 without invisible characters, backslashes
// and what Windows reserves, and no segment of it is one that a version control program
// takes for its repository. The error is an [*Error]. The rules are in spec/paths.md.
func CheckPath(path string) error { return checkPath(path, false) }

// CheckInstalledPath is [CheckPath] for a file that the installer of another ecosystem writes
// on one platform: names that only another platform cannot hold are accepted.
func CheckInstalledPath(path string) error { return checkPath(path, true) }

// checkPath is CheckPath, or CheckInstalledPath if installed.
func checkPath(path string, installed bool) error {
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
		if spelling.IsRepository(segment) {
			return bad(ProblemRepository, "has a segment that a program takes for a repository")
		}
	}
	switch {
	case strings.Contains(path, `\`):
		return bad(ProblemBackslash, "holds a backslash")
	case !installed && strings.ContainsAny(path, `<>:"|?*`):
		return bad(ProblemReserved, "holds a character that Windows reserves")
	case strings.ContainsFunc(path, spelling.IsInvisible):
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

// isDeviceName reports whether Windows opens a device by the name segment, whatever its
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
