package clients

import (
	"path/filepath"
	"slices"
	"strings"
)

// NamedFile returns the file that the entry s of f names instead of a server; ok is false if it names
// none. In a plugin's manifest, "mcpServers": "./servers.json", the name is relative to the plugin's
// directory, and the file holds servers by name, alone or under the usual key. In Codex's configuration
// it is the file of an agent's role, relative to the configuration. The caller checks that the file
// exists and lies in the checkout.
func NamedFile(f File, s Server) (named File, ok bool) {
	if f.Root == "" || s.reference == "" || filepath.IsAbs(s.reference) {
		return File{}, false
	}
	to := File{Client: f.Client, Root: f.Root, User: f.User, Installed: f.Installed, off: f.off, limit: MaxShared}
	switch strings.ToLower(filepath.Base(f.Path)) {
	case "config.toml":
		to.Path = filepath.Join(filepath.Dir(f.Path), filepath.FromSlash(s.reference))
		to.format, to.shapes = TOML, []string{"mcp_servers"}
		return to, f.Client == "codex" && strings.EqualFold(s.Name, roleKey)
	case "plugin.json":
		name := filepath.Clean(filepath.FromSlash(strings.TrimPrefix(s.reference, "${CLAUDE_PLUGIN_ROOT}/")))
		to.Path, to.format, to.shapes = filepath.Join(f.Root, name), JSON, []string{usualKey, wholeFile}
		return to, slices.Contains(f.shapes, usualKey) && strings.HasSuffix(name, ".json") && filepath.IsLocal(name)
	}
	return File{}, false
}
