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

// MaxEntries bounds how many files and directories [Below] looks at.
const MaxEntries = 1 << 20

// Unread is something in a project that a client may read, and that [Below] does not.
type Unread struct {
	Path  string
	Why   string
	Empty bool // nothing of a client's is where it leads, as far as that is seen
}

// Below finds the project's files of the clients called ids, or of all, in dir and in every
// directory below it: a client may be opened in any of them. Names are compared without
// case, as some file systems do. Links are followed as far as they stay in dir; what is
// not looked at is said. Hallmark's own files are none of a client.
func Below(ctx context.Context, dir string, ids ...string) (files []File, unread []Unread, err error) {
	w := below{ids: ids}
	if w.root, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, nil, err
	}
	w.index()
	err = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if w.count++; w.count > MaxEntries {
			w.miss(dir, fmt.Sprintf("holds more than %d files; not all were looked at", MaxEntries))
			return fs.SkipAll
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			var at *fs.PathError
			if errors.As(err, &at) {
				err = at.Err // the path is said already
			}
			w.miss(name, "cannot be read: "+err.Error())
			return nil
		case d.IsDir() && d.Name() == ".git" && name != dir:
			return fs.SkipDir // nothing in it is part of the checkout
		case d.IsDir():
		case d.Type()&fs.ModeSymlink != 0:
			w.link(name)
		default:
			w.file(name)
		}
		return nil
	})
	return w.files, w.unread, err
}

// below is a walk through a project.
type below struct {
	ids    []string
	root   string // all links resolved
	count  int
	files  []File
	unread []Unread

	names    map[string][]place // by the last element in lower case
	patterns []place            // those whose last element is a pattern
}

// place is a location of a client's file in a project.
type place struct {
	client string
	location
	parts []string
}

func (w *below) index() {
	w.names = map[string][]place{}
	for _, c := range table {
		if c.id == "hallmark" || len(w.ids) > 0 && !slices.Contains(w.ids, c.id) {
			continue
		}
		for _, l := range c.files {
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

// places are those that a file called name has.
func (w *below) places(name string) (out []place) {
	elements := strings.Split(filepath.ToSlash(name), "/")
	for _, p := range w.names[strings.ToLower(filepath.Base(name))] {
		if matches(p.parts, elements) {
			out = append(out, p)
		}
	}
	for _, p := range w.patterns {
		if matches(p.parts, elements) {
			out = append(out, p)
		}
	}
	return out
}

// script is the name of a shell script that Crush runs when it starts, which adds servers.
const script = "crushrc"

func (w *below) file(name string) {
	if base := strings.TrimPrefix(strings.ToLower(filepath.Base(name)), "."); base == script && (len(w.ids) == 0 || slices.Contains(w.ids, "crush")) {
		w.miss(name, "is a shell script that Crush runs when it starts, which may add servers, and is not read")
	}
	for _, p := range w.places(name) {
		root, _ := p.rootOf(name)
		w.files = merged(w.files, File{Client: p.client, Path: name, Root: root, format: formatOf(name), shapes: []string{p.shape}})
	}
}

func (w *below) miss(name, why string) { w.unread = append(w.unread, Unread{Path: name, Why: why}) }

// away says where a link to a directory leads out of the project. What lies there is not read,
// and only the names that clients' files have in its top are looked up.
func (w *below) away(name, real string) {
	if st, err := os.Stat(real); err != nil || !st.IsDir() {
		return // of a file its name tells that no client reads it
	}
	held := ""
	for _, p := range w.all() {
		found, err := filepath.Glob(escapeGlob(real) + string(filepath.Separator) + filepath.FromSlash(p.path))
		if err == nil && len(found) > 0 && (held == "" || p.path < held) {
			held = p.path
		}
	}
	why := "is a link out of the project, and is not followed"
	if held != "" {
		why += fmt.Sprintf(", where it leads to a directory with %s", held)
	}
	w.unread = append(w.unread, Unread{name, why, held == ""})
}

// all are all places.
func (w *below) all() []place {
	all := slices.Clone(w.patterns)
	for _, p := range w.names {
		all = append(all, p...)
	}
	return all
}

// link looks at a link to a client's file, or to a directory in which a client has files, or
// is opened.
func (w *below) link(name string) {
	ways := w.through(name)
	real, err := filepath.EvalSymlinks(name)
	if len(w.places(name)) == 0 && len(ways) == 0 {
		// The directory that it leads to, if that is in the project, has a place of its own.
		if err == nil && !w.within(real) {
			w.away(name, real)
		}
		return
	}
	if err != nil {
		w.miss(name, "is a link that leads nowhere")
		return
	}
	if !w.within(real) {
		w.miss(name, "is a link out of the project, and is not followed")
		return
	}
	if st, err := os.Stat(real); err == nil && !st.IsDir() {
		w.file(name)
		return
	}
	for _, rest := range ways {
		found, err := filepath.Glob(escapeGlob(name) + string(filepath.Separator) + filepath.FromSlash(rest))
		if err != nil {
			continue
		}
		for _, f := range found {
			if real, err := filepath.EvalSymlinks(f); err != nil {
				w.miss(f, "is a link that leads nowhere")
			} else if !w.within(real) {
				w.miss(f, "is a link out of the project, and is not followed")
			} else {
				w.file(f)
			}
		}
	}
}

// within reports whether a path without links lies in the project.
func (w *below) within(real string) bool {
	rel, err := filepath.Rel(w.root, real)
	return err == nil && filepath.IsLocal(rel)
}

// through are the rests of clients' paths that begin with a directory called name.
func (w *below) through(name string) (rests []string) {
	elements := strings.Split(filepath.ToSlash(name), "/")
	for _, p := range w.all() {
		for n := 1; n < len(p.parts); n++ {
			rest := strings.Join(strings.Split(p.path, "/")[n:], "/")
			if matches(p.parts[:n], elements) && !slices.Contains(rests, rest) {
				rests = append(rests, rest)
			}
		}
	}
	slices.Sort(rests)
	return rests
}
