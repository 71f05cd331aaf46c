package clients

import (
	"path/filepath"
	"slices"
	"strings"
)

// roleKey is the key of Codex's configuration under which the file of an agent's role is named.
const roleKey = "config_file"

// NamedFile returns the file that an entry names instead of holding servers. In a plugin's manifest,
// "mcpServers": "./servers.json", the name is relative to the plugin's directory, and the file holds
// servers by name, alone or under the usual key. In Codex's configuration it is the file of an agent's
// role, relative to the configuration. The caller checks that it exists, and lies in the checkout.
func NamedFile(f File, s Server) (File, bool) {
	if f.Root == "" || s.names == "" || filepath.IsAbs(s.names) {
		return File{}, false
	}
	to := File{Client: f.Client, Root: f.Root, limit: MaxShared}
	switch strings.ToLower(filepath.Base(f.Path)) {
	case "config.toml":
		to.Path, to.format, to.shapes = filepath.Join(filepath.Dir(f.Path), filepath.FromSlash(s.names)), formatTOML,
			[]string{"mcp_servers"}
		return to, f.Client == "codex" && strings.EqualFold(s.Name, roleKey)
	case "plugin.json":
		name := filepath.Clean(filepath.FromSlash(strings.TrimPrefix(s.names, "${CLAUDE_PLUGIN_ROOT}/")))
		to.Path, to.format, to.shapes = filepath.Join(f.Root, name), formatJSON, []string{usual, itself}
		return to, slices.Contains(f.shapes, usual) && strings.HasSuffix(name, ".json") && filepath.IsLocal(name)
	}
	return File{}, false
}

// ReadBy reports whether all servers that are found in f are found by reading o.
func (f File) ReadBy(o File) bool {
	return f.Path == o.Path && !slices.ContainsFunc(f.shapes,
		func(shape string) bool { return !slices.Contains(o.shapes, shape) })
}
