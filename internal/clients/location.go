package clients

import (
	"cmp"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/hallmark-mcp/hallmark/archive"
)

// base is the directory that a location begins with.
type base int

const (
	home    base = iota // the user's home directory
	xdg                 // $XDG_CONFIG_HOME, else ~/.config, on every system
	config              // Linux: as xdg; macOS: ~/Library/Application Support; Windows: %APPDATA%
	project             // the project's directory
	system              // the root directory; on Windows %PROGRAMDATA%
)

// location is where a client looks for a file, on the systems named ("" for all).
type location struct {
	os    string
	base  base
	path  string // with slashes; elements may be patterns, and one of them **, which is any directories or none
	shape string // the path of keys to the servers: see entries
	env   string // a variable that names the file's directory instead

	runs  bool           // the shape leads to command lines that the client runs itself
	marks *regexp.Regexp // what a file that may be any program's has, if it is the client's
}

// parts are the elements of a location's path, each a name or a pattern.
func (l location) parts() []string { return strings.Split(strings.ToLower(l.path), "/") }

// fitsName reports whether the last elements of a file's path are those of l: two of them
// tell .vscode/mcp.json from .cursor/mcp.json, and one of them is no pattern. file has them
// as spell gives them.
func (l location) fitsName(file []string) bool {
	want := l.parts()
	from := max(0, len(want)-2)
	for from > 0 && strings.ContainsRune(want[from], '*') {
		from--
	}
	return matches(want[from:], file)
}

// hasMark reports whether the file called name has the mark that tells a file of l from others of that
// name. known is false if the file cannot be read, or is larger than MaxShared.
func (l location) hasMark(name string) (yes, known bool) {
	if l.marks == nil {
		return true, true
	}
	data, err := readFile(name, MaxShared)
	return err == nil && l.marks.Match(data), err == nil
}

// spellElements returns the elements of a path in the one spelling that a file system may take for
// many: so no file is missed that a client would open as its own.
func spellElements(name string) []string {
	elements := strings.Split(filepath.ToSlash(name), "/")
	for i, e := range elements {
		elements[i] = archive.Spelling(e)
	}
	return elements
}

// expand returns the paths of a location's files on m, those of a pattern as far as they exist. It fails
// if there are more than maxDeep directories to look in.
func (m Machine) expand(l location) (found []string, err error) {
	if l.os != "" && l.os != m.OS {
		return nil, nil
	}
	dir := ""
	env := func(name string) string {
		if m.Getenv == nil {
			return ""
		}
		return m.Getenv(name)
	}
	name := filepath.FromSlash(l.path)
	inHome := func(parts ...string) string {
		if m.Home == "" {
			return ""
		}
		return filepath.Join(append([]string{m.Home}, parts...)...)
	}
	xdgDir := cmp.Or(env("XDG_CONFIG_HOME"), inHome(".config"))
	switch l.base {
	case home:
		dir = m.Home
	case xdg:
		dir = xdgDir
	case config:
		switch m.OS {
		case "darwin":
			dir = inHome("Library", "Application Support")
		case "windows":
			dir = cmp.Or(env("APPDATA"), inHome("AppData", "Roaming"))
		default:
			dir = xdgDir
		}
	case project:
		dir = m.Project
	case system:
		dir = string(filepath.Separator)
		if m.OS == "windows" {
			dir = env("PROGRAMDATA")
		}
	}
	if l.env != "" && env(l.env) != "" {
		dir, name = env(l.env), filepath.Base(name)
	}
	if dir == "" {
		return nil, nil
	}
	if !strings.ContainsRune(l.path, '*') {
		return []string{filepath.Join(dir, name)}, nil
	}
	head, tail, deeper := strings.Cut(name, "**"+string(filepath.Separator))
	dirs, pattern := []string{dir}, name
	if deeper {
		if dirs, err = directoriesBelow(filepath.Join(dir, head), nil); err != nil {
			return nil, err
		}
		pattern = tail
	}
	for _, dir := range dirs {
		files, err := filepath.Glob(escapeGlob(dir) + string(filepath.Separator) + pattern)
		if err != nil {
			return nil, nil
		}
		found = append(found, files...)
	}
	return found, nil
}

// escapeGlob returns the pattern that matches a directory's name alone.
func escapeGlob(dir string) string {
	return strings.NewReplacer(`*`, `[*]`, `?`, `[?]`, `[`, `[[]`).Replace(dir)
}
