package clients

import (
	"path/filepath"
	"slices"
	"strings"
)

// Named is the file that an entry of a plugin's manifest names instead of servers:
// "mcpServers": "./servers.json". It lies below the plugin's directory, which the manifest's
// place tells, and holds servers by name, alone or under the usual key.
func Named(f File, s Server) (File, bool) {
	name := strings.TrimPrefix(s.names, "${CLAUDE_PLUGIN_ROOT}/")
	if f.Root == "" || filepath.Base(f.Path) != "plugin.json" || !slices.Contains(f.shapes, usual) || !strings.HasSuffix(name, ".json") {
		return File{}, false
	}
	name = filepath.Clean(filepath.FromSlash(name))
	if !filepath.IsLocal(name) {
		return File{}, false
	}
	return File{Client: f.Client, Path: filepath.Join(f.Root, name), Root: f.Root, format: formatJSON, shapes: []string{usual, itself}, limit: MaxShared}, true
}

// ReadBy reports whether all servers that are found in f are found by reading o.
func (f File) ReadBy(o File) bool {
	return f.Path == o.Path && !slices.ContainsFunc(f.shapes, func(shape string) bool { return !slices.Contains(o.shapes, shape) })
}
