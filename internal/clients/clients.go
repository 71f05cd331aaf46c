// Package clients finds, reads and rewrites the configuration files of MCP clients.
//
// Every client keeps its servers in a format that package clients reads, under a key of its own, in
// directories of the user and of the project. The table in table.go has all clients. [Machine] says whose
// files are meant, so that the files of another system can be named too: this package does not read the
// environment.
//
// A [Server] has the names of the variables and headers that its entry sets. Their values may be secrets: only
// [Server.Values] returns those of variables, for who starts the server as its client would.
//
// # Editing
//
// [Rewrite] replaces the command and the arguments of one entry and nothing else: comments, order,
// indentation and line ends stay byte for byte. It returns a [Change], with which [Restore] puts the
// exact original bytes back, whatever else was edited in the file. Restore refuses if the entry itself
// was edited. Changes are kept beside the file, as [Original]s. [Insert] adds an entry, and the file if
// it does not exist, in the same way: Restore removes what was added and nothing else.
//
// # Limits
//
// A file has at most [MaxFile] bytes, and a file that is not regular is not opened. Text of a file is
// returned as it is: the caller escapes it before printing.
//
// # Formats
//
// JSON, JSON5, TOML, YAML and the front matter of Markdown are read into trees that know where
// each value is in its file; strings and lists are written in these formats. With the places an editor
// replaces one value and keeps every other byte: comments, order, indentation and line ends.
//
// A [Node] is the same for all formats. Keys that stand twice in an object are kept, and the order is that
// of the file. [Format.Parse] refuses, if it is strict, files that readers of the format understand in
// different ways.
//
// # Limits
//
// Values nest at most 200 deep, and aliases of YAML make at most 1,048,576 nodes. Items of an inline list
// of TOML have no offsets. Text is returned as it is: the caller escapes it before printing.
package clients

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/hallmark-mcp/hallmark/internal/spelling"
)

// unknownClient is the error for a name that is no client's: it says which may be meant, or all that there are.
func unknownClient(id string) error {
	typed := strings.ToLower(id)[:min(len(id), 40)]
	near := slices.DeleteFunc(Names(), func(name string) bool {
		return spelling.Distance(typed, name) > len(typed)/3 && !(len(typed) > 2 && strings.Contains(name, typed))
	})
	if len(near) > 0 {
		return fmt.Errorf("%+q is no client that is known; did you mean %s?", id, strings.Join(near, " or "))
	}
	return fmt.Errorf("%+q is no client that is known: %s", id, strings.Join(Names(), ", "))
}

// Find lists the existing files of the clients called ids, or of all clients. A file that several
// clients read in the same way is listed once.
func Find(m Machine, ids ...string) ([]File, error) {
	for _, id := range ids {
		if !slices.Contains(Names(), id) {
			return nil, unknownClient(id)
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
			names, err := m.expand(c, l)
			if err != nil {
				return nil, err
			}
			for _, name := range names {
				st, err := os.Stat(name)
				if err == nil && st.IsDir() || err != nil && (l.base != project || isMissing(err)) {
					// This user's client cannot read it either. A project's file is returned: others may read it.
					continue
				}
				f := l.newFile(c.id, name)
				if yes, known := l.hasMark(name); !yes && known {
					continue
				}
				if l.base == project {
					f.Root, f.limit = m.Project, MaxShared
				}
				if l.plugin && !f.readInstalled(m, l) {
					continue
				}
				found = mergeFile(found, f)
			}
		}
	}
	return found, nil
}

// ProjectFiles lists the paths, relative to a project and with slashes, at which clients have their servers, and
// where the originals of these files are kept. Paths that are patterns are left out.
func ProjectFiles() (paths []string) {
	for _, c := range table {
		for _, l := range c.locations() {
			if l.base == project && !l.runs && !strings.Contains(l.path, "*") && !slices.Contains(paths, l.path) {
				paths = append(paths, l.path, OriginalsPath(l.path))
			}
		}
	}
	return paths
}

// isMissing reports whether err says that there is no file of that name.
func isMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// FileAt returns the file called name, whose client is not given. The client is the one that has a file of that name
// with the most elements of its path, the first of them, and the shapes belong to all such clients. Without such a
// client the shapes are anyShapes.
func FileAt(name string) File {
	f := File{Path: name, format: FormatOf(name)}
	parts, most := spellElements(name), 0
	for _, c := range table {
		for _, l := range c.locations() {
			anyName := strings.HasPrefix(l.path, "*") && l.marks != nil // any program may have such a file
			fitting := l.countFitting(parts)
			if f.format != FormatOf(l.path) || anyName || fitting == 0 {
				continue
			}
			if fitting > most {
				f.Client, most = c.id, fitting
			}
			if f.Root == "" && l.base == project {
				f.Root, _ = l.rootOf(name)
			}
			f.addShape(l)
		}
	}
	if len(f.shapes) == 0 {
		f.shapes = slices.Clone(anyShapes)
	}
	return f
}

// anyShapes are the shapes for a file with a name of no client.
var anyShapes = []string{
	usualKey, "servers", "mcp/servers", "mcp.servers", "context_servers", "mcp_servers", "mcp", "amp.mcpServers",
	"extensions", "recipe/extensions", "providers/mcp", "projects/*/mcpServers", inPlugins, "mcp-servers",
	"mcp_tools/mcpServers",
}
