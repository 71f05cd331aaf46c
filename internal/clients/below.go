package clients

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Bounds of what [FindBelow] looks at.
const (
	MaxEntries = 1 << 20 // files and directories
	MaxFiles   = 10_000  // files of clients
)

// Unread is something in a project that a client may read, and that [FindBelow] does not read.
type Unread struct {
	Path  string
	Why   string
	Empty bool // no file of a client was found there, or where it leads

	Program bool // a client runs it when it starts
}

// FindBelow finds the project files of the clients called ids, or of all clients, in dir and in every
// directory below it, since a client may be opened in any of them. It does not find Hallmark's own files.
// Names are compared as some file systems do: without case, invisible characters, and dots at their end.
// Links are followed if they stay in dir. All that was not looked at is in unread. The error comes from
// ctx, or says that dir cannot be found.
func FindBelow(ctx context.Context, dir string, ids ...string) (files []File, unread []Unread, err error) {
	w := projectWalk{ids: ids, dir: dir, seen: map[string]bool{}}
	if w.root, err = resolveLinks(dir); err != nil {
		return nil, nil, err
	}
	w.indexPlaces()
	// Walk w.root: dir may be a link itself, which WalkDir does not follow.
	err = filepath.WalkDir(w.root, func(real string, d fs.DirEntry, err error) error {
		name := w.displayName(real)
		if w.count++; w.count > MaxEntries {
			w.addUnread(dir, fmt.Sprintf("holds more than %d files; not all were looked at", MaxEntries))
			return fs.SkipAll
		}
		if len(w.files) > MaxFiles {
			w.files = w.files[:MaxFiles]
			w.addUnread(dir, fmt.Sprintf("holds more than %d files of clients; not all were looked at", MaxFiles))
			return fs.SkipAll
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			if at, ok := errors.AsType[*fs.PathError](err); ok {
				err = at.Err // Unread has the path
			}
			w.addUnread(name, "cannot be read: "+err.Error())
			return nil
		case d.IsDir() && d.Name() == ".git" && real != w.root:
			return fs.SkipDir // nothing in it is part of the checkout
		case d.IsDir():
			w.visitDirectory(name)
		case d.Type()&fs.ModeSymlink != 0:
			w.visitLink(name)
		default:
			w.visitFile(name)
		}
		return nil
	})
	return w.files, w.unread, err
}

// projectWalk is a walk through a project.
type projectWalk struct {
	ids    []string
	dir    string // as it was named
	root   string // all links resolved
	count  int
	files  []File
	unread []Unread
	seen   map[string]bool // names of files that were reported
	linked int             // directories that were reached through links

	names    map[string][]place // places by their last element, in lower case
	patterns []place            // places whose last element is a pattern
	others   []place            // places of clients that are not looked for
	programs []projectProgram
}

// projectProgram is a program of a client, as the walk finds and reports it.
type projectProgram struct {
	parts []string // of its path
	why   string
	adds  bool // it may add servers
}

// displayName returns the path under which a file below the root is reported: below dir, as the caller
// named that.
func (w *projectWalk) displayName(real string) string {
	rel, err := filepath.Rel(w.root, real)
	if err != nil {
		return real
	}
	return filepath.Join(w.dir, rel)
}

// place is a location of a client's file in a project.
type place struct {
	client string
	location
	parts []string
}

// indexPlaces fills names, patterns and programs from the table.
func (w *projectWalk) indexPlaces() {
	w.names = map[string][]place{}
	for _, c := range table {
		if c.isHallmark {
			continue
		}
		if !w.isAsked(c.id) {
			w.indexOthers(c)
			continue
		}
		for _, p := range c.programs {
			w.programs = append(w.programs, projectProgram{strings.Split(p.path, "/"), p.describe(c), p.adds})
		}
		for _, l := range c.locations() {
			if l.base != project {
				continue
			}
			p := place{c.id, l, l.parts()}
			last := p.parts[len(p.parts)-1]
			if strings.ContainsRune(last, '*') {
				w.patterns = append(w.patterns, p)
			} else {
				w.names[last] = append(w.names[last], p)
			}
		}
	}
}

// isAsked reports whether the files of a client are looked for.
func (w *projectWalk) isAsked(id string) bool { return len(w.ids) == 0 || slices.Contains(w.ids, id) }

// indexOthers fills others from a client whose files are not looked for. They tell to which directory of
// the project a file belongs: .kiro/settings/mcp.json is not the mcp.json of a plugin in .kiro/settings.
func (w *projectWalk) indexOthers(c client) {
	for _, l := range c.locations() {
		if l.base == project {
			w.others = append(w.others, place{c.id, l, l.parts()})
		}
	}
}

// rootOf returns the directory of the project to which a file belongs, by the most exact place that any
// client has for it; first is the first of the clients which are looked for.
func (w *projectWalk) rootOf(name string, first place) string {
	elements := spellElements(name)
	for _, p := range w.others {
		if len(p.parts) > len(first.parts) && matches(p.parts, elements) {
			first = p
		}
	}
	root, _ := first.rootOf(name)
	return root
}

// places returns the places that match a file called name, those of the most elements first:
// .warp/.mcp.json before .mcp.json.
func (w *projectWalk) places(name string) (out []place) {
	elements := spellElements(name)
	for _, p := range w.names[elements[len(elements)-1]] {
		if matches(p.parts, elements) {
			out = append(out, p)
		}
	}
	for _, p := range w.patterns {
		if matches(p.parts, elements) {
			out = append(out, p)
		}
	}
	slices.SortStableFunc(out, func(a, b place) int { return len(b.parts) - len(a.parts) })
	return out
}

// visitFile adds a file that clients read, and reports one that they run.
func (w *projectWalk) visitFile(name string) {
	if w.seen[name] {
		return // it was reached through a link
	}
	elements := spellElements(name)
	for _, p := range w.programs {
		if matches(p.parts, elements) {
			w.unread = append(w.unread, Unread{Path: name, Why: p.why, Empty: !p.adds, Program: true})
			w.seen[name] = true
		}
	}
	var files []File
	places := w.places(name)
	for _, p := range places {
		if yes, known := p.hasMark(name); !known {
			w.reportUnmarked(name)
			return
		} else if !yes {
			continue
		}
		// The first place is the most exact: .vscode/mcp.json is not the mcp.json of a plugin in .vscode.
		root := w.rootOf(name, places[0])
		f := p.newFile(p.client, name)
		f.Root, f.limit = root, MaxShared
		files = mergeFile(files, f)
	}
	if len(files) > 0 {
		w.seen[name] = true
		w.files = append(w.files, files...)
	}
}

// reportUnmarked reports a file that may be any program's by its name and whose content could not be read.
func (w *projectWalk) reportUnmarked(name string) {
	w.unread = append(w.unread, Unread{Path: name, Empty: true,
		Why: fmt.Sprintf("cannot be read, or is larger than %d bytes: whether it is a recipe of Goose's is not known",
			MaxShared)})
}

// visitDirectory reports a directory that has the name of a client's file.
func (w *projectWalk) visitDirectory(name string) {
	if slices.ContainsFunc(w.places(name), func(p place) bool { return !strings.ContainsRune(p.path, '*') }) {
		w.unread = append(w.unread, Unread{Path: name, Why: "is a directory with the name of a client's file",
			Empty: true})
	}
}

// addUnread reports a file or directory below which files of clients may be.
func (w *projectWalk) addUnread(name, why string) {
	w.unread = append(w.unread, Unread{Path: name, Why: why})
}

// reportLinkOut reports a link to a directory outside of the project. Files there are not read; only
// the names of clients' files are looked up.
func (w *projectWalk) reportLinkOut(name, real string) {
	if st, err := os.Stat(real); err != nil || !st.IsDir() {
		return // no client reads a file of this name
	}
	held := ""
	for _, p := range w.allPlaces() {
		if (held == "" || p.path < held) && w.holdsFile(real, p.parts) {
			held = p.path
		}
	}
	why := "is a link out of the project, and is not followed"
	if held != "" {
		why += fmt.Sprintf(", where it leads to a directory with %s", held)
	}
	w.unread = append(w.unread, Unread{Path: name, Why: why, Empty: held == ""})
}

// allPlaces returns the places of all clients.
func (w *projectWalk) allPlaces() []place {
	all := slices.Clone(w.patterns)
	for _, p := range w.names {
		all = append(all, p...)
	}
	return all
}

// visitLink follows a link that has the name of a client's file, or of a directory in which a client has
// files. It reports a link that leads out of the project.
func (w *projectWalk) visitLink(name string) {
	ways := w.pathsThrough(name)
	real, err := resolveLinks(name)
	if len(w.places(name)) == 0 && len(ways) == 0 {
		// The walk visits a directory of the project under its own name.
		if err == nil && !w.inProject(real) {
			w.reportLinkOut(name, real)
		}
		return
	}
	if err != nil {
		w.addUnread(name, "is a link that leads nowhere")
		return
	}
	if !w.inProject(real) {
		w.addUnread(name, "is a link out of the project, and is not followed")
		return
	}
	if st, err := os.Stat(real); err == nil && !st.IsDir() {
		w.visitFile(name)
		return
	}
	for _, rest := range ways {
		found, err := findSpelled(name, rest, w.skipsDirectory)
		if err != nil {
			w.addUnread(name, errTooDeep.Error())
		}
		for _, f := range found {
			if real, err := resolveLinks(f); err != nil {
				w.addUnread(f, "is a link that leads nowhere")
			} else if !w.inProject(real) {
				w.addUnread(f, "is a link out of the project, and is not followed")
			} else {
				w.visitFile(f)
			}
		}
	}
}

// inProject reports whether an absolute path without links lies in the project.
func (w *projectWalk) inProject(real string) bool {
	rel, err := filepath.Rel(w.root, real)
	return err == nil && filepath.IsLocal(rel)
}

// pathsThrough returns, of each place that leads through the directory called name, the elements that
// follow it.
func (w *projectWalk) pathsThrough(name string) (rests [][]string) {
	elements := spellElements(name)
	for _, p := range w.allPlaces() {
		for n := 1; n < len(p.parts); n++ {
			if matches(p.parts[:n], elements) {
				from := n
				if p.parts[n-1] == anyDirs { // more directories may follow
					from--
				}
				rests = append(rests, p.parts[from:])
			}
		}
	}
	slices.SortFunc(rests, slices.Compare)
	return slices.CompactFunc(rests, slices.Equal)
}

// holdsFile reports whether a directory outside of the project has a file that patterns match. It also
// does if there are too many directories to tell.
func (w *projectWalk) holdsFile(real string, patterns []string) bool {
	found, err := findSpelled(real, patterns, nil)
	return err != nil || len(found) > 0
}

// skipsDirectory reports whether to leave out a directory that was reached through a link, because it lies
// outside of the project or more than maxDeep were reached so.
func (w *projectWalk) skipsDirectory(real, name string) bool {
	if w.linked++; w.linked > maxDeep {
		if w.linked == maxDeep+1 {
			w.addUnread(w.dir, errTooDeep.Error())
		}
		return true
	}
	if w.inProject(real) {
		return false
	}
	w.addUnread(name, "is a link out of the project, and is not followed")
	return true
}

// findSpelled returns the files below dir whose path from there matches the patterns, in any spelling
// that a file system may take for it. Directories that ** stands for are left out if skip reports true
// of them: see directoriesBelow.
func findSpelled(dir string, patterns []string, skip func(real, name string) bool) (found []string, err error) {
	if patterns[0] == anyDirs {
		dirs, err := directoriesBelow(dir, skip)
		for _, d := range dirs {
			more, _ := findSpelled(d, patterns[1:], skip) // there is one ** in a path
			found = append(found, more...)
		}
		return found, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil
	}
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		switch {
		case !matches(patterns[:1], spellElements(e.Name())):
		case len(patterns) == 1:
			found = append(found, name)
		default:
			more, below := findSpelled(name, patterns[1:], skip)
			found, err = append(found, more...), errors.Join(err, below)
		}
	}
	return found, err
}
