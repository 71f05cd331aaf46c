// Package clients finds, reads and rewrites the configuration files of MCP clients.
//
// Every client keeps its servers in a file of its own kind: JSON with or without comments,
// JSON5, TOML or YAML; under a key of its own; in the user's directories and in the
// project's. The table of table.go has them all. [Machine] says whose files are meant, so that
// the files of another system can be named too; nothing here reads the environment.
//
// A [Server] has the names of the variables and headers that its entry sets, and never
// their values: those are secrets.
//
// # Editing
//
// [Rewrite] replaces the command and the arguments of one entry and nothing else: comments,
// order, indentation and line ends stay byte for byte. It returns a [Change], with which
// [Restore] puts the original bytes back, exactly, whatever else was edited in the file;
// it refuses if the entry itself was. Changes are kept beside the file, as [Original]s.
// [Insert] adds an entry, and if need be the file, in the same way: Restore takes away what
// was added and nothing else.
//
// # Limits
//
// A file has at most [MaxFile] bytes, values nest at most 200 deep, and a file that is not
// regular is not opened. Text of a file is returned as it is: whoever prints it escapes it.
package clients

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/hallmark-mcp/hallmark/internal/beneath"
)

// MaxFile bounds a configuration file, in bytes. Claude Code keeps histories in its own.
const MaxFile = 64 << 20

// MaxShared bounds a file of a checkout, in bytes: people write those.
const MaxShared = 4 << 20

// Machine says where files lie.
type Machine struct {
	OS      string                   // as runtime.GOOS names it
	Home    string                   // the user's home directory; "" for no user's files
	Getenv  func(name string) string // XDG_CONFIG_HOME, APPDATA, PROGRAMDATA, CODEX_HOME, …
	Project string                   // the project's directory; "" for no project's files

	Commands bool // also the project's files that hold none but a client's own command lines
}

// File is a configuration file that is there.
type File struct {
	Client string // its id: "claude-code"
	Path   string
	User   bool   // it is the user's or the machine's, for every project
	Root   string // the directory of the project that it belongs to, "" if its name does not tell

	format        format
	shapes        []string
	commandShapes []string // shapes of command lines
	limit         int64    // of its bytes; MaxFile if 0
}

// Names are the ids of the clients that are known.
func Names() []string {
	var out []string
	for _, c := range table {
		out = append(out, c.id)
	}
	return out
}

// Find lists the files of the clients called ids, or of all, that are there. A file that
// several clients read is listed once.
func Find(m Machine, ids ...string) ([]File, error) {
	for _, id := range ids {
		if !slices.Contains(Names(), id) {
			return nil, fmt.Errorf("%+q is no client that is known: %s", id, strings.Join(Names(), ", "))
		}
	}
	var found []File
	for _, c := range table {
		if len(ids) > 0 && !slices.Contains(ids, c.id) {
			continue
		}
		for _, l := range c.locations() {
			if l.runs && !m.Commands {
				continue
			}
			names, err := m.expand(l)
			if err != nil {
				return nil, err
			}
			for _, name := range names {
				st, err := os.Stat(name)
				if err == nil && st.IsDir() || err != nil && (l.base != project || isMissing(err)) {
					continue // a client of this user cannot read it either; a project's file has other users
				}
				f := l.file(c.id, name)
				if yes, known := l.hasMark(name); !yes && known {
					continue
				}
				if l.base == project {
					f.Root, f.limit = m.Project, MaxShared
				}
				found = mergeFile(found, f)
			}
		}
	}
	return found, nil
}

// isMissing reports whether err says that nothing has the name.
func isMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// file returns the file called name, read by a client as l says.
func (l location) file(client, name string) File {
	f := File{Client: client, Path: name, User: l.base != project, format: formatOf(name)}
	f.addShape(l)
	return f
}

// addShape adds the shape of l to those that f is read with.
func (f *File) addShape(l location) {
	into := &f.shapes
	if l.runs {
		into = &f.commandShapes
	}
	if !slices.Contains(*into, l.shape) {
		*into = append(*into, l.shape)
	}
}

// mergeFile adds f to files, or its shapes to the element of the same path. A file that several
// clients read stays apart for each that finds servers in another part of it.
func mergeFile(files []File, f File) []File {
	i := slices.IndexFunc(files, func(o File) bool {
		return o.Path == f.Path && (o.Client == f.Client || len(f.shapes) > 0 && slices.Contains(o.shapes, f.shapes[0]))
	})
	if i < 0 {
		return append(files, f)
	}
	for _, shape := range f.shapes {
		files[i].addShape(location{shape: shape})
	}
	for _, shape := range f.commandShapes {
		files[i].addShape(location{shape: shape, runs: true})
	}
	files[i].User = files[i].User || f.User
	return files
}

// FileAt returns the file called name, whose client is not known: of the first client with a file of
// that name, with the shapes of all such clients; if there is none, with all of anyShapes.
func FileAt(name string) File {
	f := File{Path: name, format: formatOf(name)}
	parts := spellElements(name)
	for _, c := range table {
		for _, l := range c.locations() {
			if f.format != formatOf(l.path) || strings.HasPrefix(l.path, "*") && l.marks != nil || !l.fitsName(parts) {
				continue // any program may have a file of this name
			}
			if f.Client == "" {
				f.Client = c.id
			}
			if f.Root == "" && l.base == project {
				f.Root, _ = l.rootOf(name)
			}
			f.addShape(l)
		}
	}
	if len(f.shapes) == 0 {
		for _, shape := range anyShapes {
			if !slices.Contains(f.shapes, shape) {
				f.shapes = append(f.shapes, shape)
			}
		}
	}
	return f
}

// formatOf returns the format by the extension of name; JSON, with comments, for all that is not known.
func formatOf(name string) format {
	switch strings.ToLower(path.Ext(filepath.ToSlash(name))) {
	case ".toml":
		return formatTOML
	case ".yaml", ".yml":
		return formatYAML
	case ".md":
		return formatFront
	}
	return formatJSON
}

// Load reads the servers of a file, in the order of the file.
func Load(f File) ([]Server, error) {
	data, err := Read(f)
	if err != nil {
		return nil, err
	}
	return Parse(f, data)
}

// Parse reads the servers of data, the bytes of f, in their order. Its error names line and column.
func Parse(f File, data []byte) ([]Server, error) {
	root, err := f.format.read(data, false)
	if err != nil {
		return nil, err
	}
	var out []Server
	for _, shape := range f.shapes {
		for _, e := range entries(root, shape, false) {
			if f.refers(e) || !e.isTable() ||
				slices.ContainsFunc(out, func(o Server) bool { return o.entry.value == e.value }) {
				continue
			}
			s, ok := e.server(f)
			if !ok {
				continue
			}
			s.Line, s.Column = position(data, e.at)
			out = append(out, s)
		}
	}
	slices.SortStableFunc(out, func(a, b Server) int { return a.entry.at - b.entry.at })
	return out, nil
}

// Read returns the bytes of a client's file, for [Parse], [Rewrite] and [Restore].
func Read(f File) ([]byte, error) { return readFile(f.Path, cmp.Or(f.limit, MaxFile)) }

// readFile reads a regular file of at most limit bytes.
func readFile(name string, limit int64) ([]byte, error) {
	f, err := beneath.Open(name)
	if err != nil {
		return nil, errors.Unwrap(err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	var pathError *fs.PathError
	switch {
	case errors.As(err, &pathError):
		return nil, pathError.Err
	case err == nil && int64(len(data)) > limit:
		return nil, fmt.Errorf("larger than %d bytes", limit)
	}
	return data, err
}
