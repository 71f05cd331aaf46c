package clients

import (
	"cmp"
	"path/filepath"
	"strings"
)

// Machine says where the files of a user and a project lie.
type Machine struct {
	OS      string                   // as runtime.GOOS names it
	Home    string                   // the user's home directory; "" for no user's files
	Getenv  func(name string) string // XDG_CONFIG_HOME, APPDATA, PROGRAMDATA, CODEX_HOME, …
	Project string                   // the project's directory; "" for no project's files

	Commands bool // also find files of the project with command lines that a client runs itself
}

// expand returns the paths of the files of a location of c on m. Of a pattern it returns the files that exist. It
// fails if there are more than maxDeep directories to look in.
func (m Machine) expand(c client, l location) (found []string, err error) {
	if l.os != "" && l.os != m.OS {
		return nil, nil
	}
	dir, name := m.baseDir(l.base), filepath.FromSlash(l.path)
	if moved, below, ok := m.moved(c, l); ok {
		dir, name = moved, filepath.FromSlash(below)
	}
	if dir == "" {
		return nil, nil
	}
	if !strings.ContainsRune(l.path, '*') {
		return []string{filepath.Join(dir, name)}, nil
	}
	head, tail, deeper := strings.Cut(name, anyDirs+string(filepath.Separator))
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

// moved returns the directory that a variable of c names for a location, and the path below it.
func (m Machine) moved(c client, l location) (dir, below string, ok bool) {
	switch l.base {
	case project:
		return "", "", false
	case named:
		name, below, _ := strings.Cut(l.path, "/")
		return absolute(m.getenv(name)), below, m.getenv(name) != ""
	}
	for _, v := range c.variables {
		rest, begins := strings.CutPrefix(l.path, v.stands)
		whole := v.stands == "" || strings.HasSuffix(v.stands, "/") || rest == ""
		if admin := l.base == system || l.base == programs; admin && v.stands != l.path {
			continue // which no variable of the user's moves as a whole
		}
		if value := m.getenv(v.name); value != "" && begins && whole {
			return absolute(value), v.below + rest, true
		}
	}
	return "", "", false
}

// absolute returns a path that a variable names, which clients read from the directory that they are started in.
func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil && path != "" {
		return abs
	}
	return path
}

// baseDir returns the directory that b stands for on m, "" if it has none.
func (m Machine) baseDir(b base) string {
	switch b {
	case home:
		return m.Home
	case project:
		return m.Project
	case named:
		return ""
	case programs:
		return m.getenv("ProgramFiles")
	case system:
		if m.OS == "windows" {
			return m.getenv("PROGRAMDATA")
		}
		return string(filepath.Separator)
	case data:
		if m.OS != "windows" {
			return cmp.Or(m.getenv("XDG_DATA_HOME"), m.inHome(".local", "share"))
		}
		return cmp.Or(m.getenv("XDG_DATA_HOME"), m.getenv("LOCALAPPDATA"), m.inHome("AppData", "Local"))
	case local:
		if m.OS == "windows" {
			return cmp.Or(m.getenv("LOCALAPPDATA"), m.inHome("AppData", "Local"))
		}
	case config:
		switch m.OS {
		case "darwin":
			return m.inHome("Library", "Application Support")
		case "windows":
			return cmp.Or(m.getenv("APPDATA"), m.inHome("AppData", "Roaming"))
		}
	}
	return cmp.Or(m.getenv("XDG_CONFIG_HOME"), m.inHome(".config"))
}

// inHome returns a path below the user's home directory, "" if there is none.
func (m Machine) inHome(parts ...string) string {
	if m.Home == "" {
		return ""
	}
	return filepath.Join(append([]string{m.Home}, parts...)...)
}

// getenv returns the value of an environment variable of m.
func (m Machine) getenv(name string) string {
	if m.Getenv == nil {
		return ""
	}
	return m.Getenv(name)
}

// escapeGlob returns the pattern that matches a directory's name alone.
func escapeGlob(dir string) string {
	return strings.NewReplacer(`*`, `[*]`, `?`, `[?]`, `[`, `[[]`).Replace(dir)
}
