package clients

import (
	"cmp"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// File is a configuration file of a client.
type File struct {
	Client string // its id: "claude-code"
	Path   string
	User   bool   // it is the user's or the machine's, for every project
	System bool   // it is the machine's, which its administrator manages
	Root   string // the directory of the project, plugin or extension that it belongs to, "" if its name does not tell

	// Installed says that it is a part of something that the user installed into the client, a plugin or an extension,
	// whose next version writes it anew.
	Installed bool

	format        Format
	shapes        []string // paths of keys to its servers
	commandShapes []string // paths of keys to its command lines
	limit         int64    // of its bytes; MaxFile if 0
	off           bool     // the client starts nothing of it
}

// Read returns the bytes of a client's file, for [Parse], [Rewrite] and [Restore].
func Read(f File) ([]byte, error) { return readFile(f.Path, cmp.Or(f.limit, MaxFile)) }

// newFile returns the file called name, which the client reads as l says.
func (l location) newFile(client, name string) File {
	f := File{Client: client, Path: name, User: l.base != project, System: l.base == system || l.base == programs,
		format: FormatOf(name)}
	if l.base == named && filepath.Ext(name) == "" && l.shape == "mcp_servers" {
		f.format = TOML // as the client reads it, whatever it is called
	}
	f.addShape(l)
	return f
}

// addShape adds the shape of l to the shapes of f.
func (f *File) addShape(l location) {
	into := &f.shapes
	if l.runs {
		into = &f.commandShapes
	}
	if !slices.Contains(*into, l.shape) {
		*into = append(*into, l.shape)
	}
}

// mergeFile adds f to files, or its shapes to the element with the same path. A file that several
// clients read has one element for each client that finds servers in another part of it.
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

// RunsCommands reports whether the file may hold command lines that its client runs itself.
func (f File) RunsCommands() bool { return len(f.commandShapes) > 0 }

// ReadBy reports whether all servers that are found in f are found by reading o.
func (f File) ReadBy(o File) bool {
	return f.Path == o.Path && !slices.ContainsFunc(f.shapes,
		func(shape string) bool { return !slices.Contains(o.shapes, shape) })
}

// HoldsOnlyServers reports whether the name of a file, or of its directory, says that a client keeps
// nothing but servers in it. Files of settings, agents, plugins and skills may have no server.
func HoldsOnlyServers(name string) bool {
	name = strings.ToLower(filepath.ToSlash(name))
	dir, base := path.Split(name)
	return strings.Contains(base, "mcp") || strings.Contains(path.Base(dir), "mcp")
}
