package artifact

import (
	"path"
	"strings"
)

// NewFile names a file by its slash-separated path, relative to a document.
func NewFile(path string) (Ref, error) { return Parse("file:" + path) }

func parseFile(p string) (Ref, error) {
	switch {
	case p == "":
		return Ref{}, refuse(PartPath, "the path is empty")
	case strings.ContainsRune(p, '\\'):
		return Ref{}, refuse(PartPath, `the path holds "\"; separate with "/"`)
	case p[0] == '/' || len(p) > 1 && p[1] == ':' && isLetter(p[0]):
		return Ref{}, refuse(PartPath, "the path is absolute; it must be relative to the document")
	case strings.HasSuffix(p, "/") || path.Clean(p) == ".":
		return Ref{}, refuse(PartPath, "the path names a directory")
	}
	for segment := range strings.SplitSeq(p, "/") {
		if segment == ".." {
			return Ref{}, refuse(PartPath, `the path holds a ".." segment`)
		}
	}
	// "./a" may normalise to something that reads as a drive: "./c:x".
	if clean := path.Clean(p); len(clean) > 1 && clean[1] == ':' && isLetter(clean[0]) {
		return Ref{}, refuse(PartPath, "the path begins with a drive")
	}
	if path.Base(p) == "." {
		return Ref{}, refuse(PartPath, "the path names a directory")
	}
	return Ref{kind: File, filename: p}, nil
}
