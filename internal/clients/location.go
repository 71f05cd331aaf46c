package clients

import (
	"path/filepath"
	"regexp"
	"strings"
)

// base is the directory that a location begins with.
type base int

const (
	home     base = iota // the user's home directory
	xdg                  // $XDG_CONFIG_HOME, else ~/.config, on every system
	config               // Linux: as xdg; macOS: ~/Library/Application Support; Windows: %APPDATA%
	local                // Linux and macOS: as xdg; Windows: %LOCALAPPDATA%
	data                 // $XDG_DATA_HOME, else ~/.local/share; Windows: %LOCALAPPDATA%
	project              // the project's directory
	named                // a variable: the first element of the path is its name, and its value stands for that
	programs             // %ProgramFiles% of Windows, which its administrator manages as well
	system               // the root directory; on Windows %PROGRAMDATA%
)

// location is where a client looks for a file, on the systems named ("" for all).
type location struct {
	os    string
	base  base
	path  string // with slashes; elements may be patterns, and one of them anyDirs
	shape string // the path of keys to the servers: see findEntries

	// what "*" stands for last is the directory of a plugin or an extension, which the user installed
	plugin bool
	// whether the client starts what is in that directory; nil: it does
	starts func(m Machine, dir string) (listed, on bool)

	runs  bool                  // the shape leads to command lines that the client runs itself
	marks func() *regexp.Regexp // tells a file of the client from files of other programs with the same name
}

// parts returns the elements of a location's path, each a name or a pattern.
func (l location) parts() []string { return strings.Split(strings.ToLower(l.path), "/") }

// fitsName reports whether the last elements of a file's path, as spellElements returns them, match those
// of l: two elements, because these tell .vscode/mcp.json from .cursor/mcp.json, and as many more as it
// takes for one that is not a pattern.
func (l location) fitsName(file []string) bool { return l.countFitting(file) > 0 }

// countFitting returns how many of the last elements of such a path match those of l: all that l has, or else as many
// as fitsName takes; 0 if these do not.
func (l location) countFitting(file []string) int {
	want := l.parts()
	if n, ok := countMatched(want, file); ok {
		return n
	}
	from := max(0, len(want)-2)
	for from > 0 && strings.ContainsRune(want[from], '*') {
		from--
	}
	n, ok := countMatched(want[from:], file)
	if !ok {
		return 0
	}
	return n
}

// hasMark reports whether marks, if l has any, match the file called name. known is false if the file
// cannot be read, or is larger than MaxShared.
func (l location) hasMark(name string) (yes, known bool) {
	if l.marks == nil {
		return true, true
	}
	data, err := readFile(name, MaxShared)
	return err == nil && l.marks().Match(data), err == nil
}

// rootOf returns the directory of the project in which the file called name lies at l.
func (l location) rootOf(name string) (dir string, ok bool) {
	n, ok := countMatched(l.parts(), spellElements(name))
	if !ok {
		return "", false
	}
	for range n {
		name = filepath.Dir(name)
	}
	return name, true
}
