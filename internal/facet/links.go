package facet

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/tree"
)

// leftOut are the names of files and directories that belong to no facet, wherever they lie: what version control, file
// managers and interpreters put there.
var leftOut = []string{".git", ".hg", ".svn", ".jj", ".DS_Store", "Thumbs.db", "desktop.ini", "__pycache__"}

// isLeftOut reports whether a path belongs to no facet.
func isLeftOut(p string) bool {
	for segment := range strings.SplitSeq(p, "/") {
		if slices.Contains(leftOut, segment) {
			return true
		}
	}
	return false
}

// resolve finds the files of d that belong to a facet, by their paths. A link to a regular file of d is a file with the
// same bytes; one to a directory of d is left out with a note, as the files there are files of d anyway. Any other link
// is unsound, and so is what is neither: rule 1 refuses it, and rule 2 where it is part of a skill.
func (w *wrapping) resolve(d Dir) error {
	w.files, w.unsound = map[string]sourceFile{}, map[string]error{}
	dirs := map[string]bool{".": true}
	for _, at := range sortedKeys(d.Private) {
		w.notes = append(w.notes, Note{at, d.Private[at]})
	}
	for _, f := range d.Files {
		if _, private := d.Private[f.Path]; private || isLeftOut(f.Path) {
			continue
		}
		w.files[f.Path] = sourceFile{f.Path, f.Size}
		for at := path.Dir(f.Path); !dirs[at]; at = path.Dir(at) {
			dirs[at] = true
		}
	}
	for _, at := range sortedKeys(d.Others) {
		if !isLeftOut(at) {
			w.unsound[at] = invalid("%w", &tree.EntryError{Path: at, Kind: d.Others[at]})
		}
	}
	linked := map[string]sourceFile{}
	for _, at := range sortedKeys(d.Links) {
		if _, private := d.Private[at]; private || isLeftOut(at) {
			continue
		}
		if f, ok := w.followLink(d, at, dirs); ok {
			linked[at] = f
		}
	}
	maps.Copy(w.files, linked) // only now, as a link to a link is none to a file
	if w.rule == 1 {
		return w.refuseUnsound(".")
	}
	for _, at := range sortedKeys(w.unsound) {
		w.note(at, "is left out: %v", w.unsound[at])
	}
	return nil
}

// followLink is the file that the link at a path leads to. If there is none, it notes why, or that the link is unsound.
func (w *wrapping) followLink(d Dir, at string, dirs map[string]bool) (sourceFile, bool) {
	to, inside := linkTarget(at, d.Links[at])
	f, isFile := w.files[to]
	_, private := d.Private[to]
	link := clip(d.Links[at])
	switch {
	case private:
		w.note(at, "is a symbolic link to a file that is left out")
	case !inside:
		w.unsound[at] = invalid("%+q is a symbolic link to %+q, which leads out of the directory", at, link)
	case isFile:
		return f, true
	case dirs[to]:
		w.note(at, "is a symbolic link to a directory, and is left out")
	default:
		w.unsound[at] = invalid("%+q is a symbolic link to %+q, which is no file of the directory", at, link)
	}
	return sourceFile{}, false
}

// refuseUnsound is an error if what is below a directory has a link that is no file of the facet, or something else
// that is neither file nor link.
func (w *wrapping) refuseUnsound(dir string) error {
	for _, at := range sortedKeys(w.unsound) {
		if _, ok := below(at, dir); ok {
			return w.unsound[at]
		}
	}
	return nil
}

// linkTarget is the path that a link at a path leads to, as its text says; not ok if that is outside of the directory.
func linkTarget(at, text string) (to string, ok bool) {
	if text == "" || strings.HasPrefix(text, "/") || strings.ContainsAny(text, "\\\x00") || len(text) > tree.MaxPath {
		return "", false
	}
	segments := strings.Split(at, "/")
	segments = segments[:len(segments)-1]
	for segment := range strings.SplitSeq(text, "/") {
		switch {
		case segment == "" || segment == ".":
		case segment != "..":
			segments = append(segments, segment)
		case len(segments) == 0:
			return "", false
		default:
			segments = segments[:len(segments)-1]
		}
	}
	if len(segments) == 0 {
		return ".", true
	}
	return strings.Join(segments, "/"), true
}
