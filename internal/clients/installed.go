package clients

import (
	"path/filepath"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/clients/syntax"
)

// readInstalled sets what follows from f being a part of a plugin or an extension of its client's user, at l. It
// reports whether the client has that installed.
func (f *File) readInstalled(l location) bool {
	f.Installed, f.Root = true, f.Path
	for range strings.Count(l.path, "/") - strings.Count(l.installed, "/") {
		f.Root = filepath.Dir(f.Root)
	}
	if l.starts == nil {
		return true
	}
	listed, on := l.starts(f.Root)
	f.off = !on
	return listed
}

// claudePlugin reports whether a directory of Claude Code's cache is the installed version of a plugin, and whether
// the user has it switched on. Without a list that can be read each is.
func claudePlugin(dir string) (listed, on bool) {
	plugins := filepath.Dir(filepath.Dir(filepath.Dir(filepath.Dir(dir))))
	list := readSettings(filepath.Join(plugins, "installed_plugins.json")).Get("plugins")
	if list == nil {
		return true, true
	}
	enabled := readSettings(filepath.Join(filepath.Dir(plugins), "settings.json")).Get("enabledPlugins")
	for _, plugin := range list.Members {
		for _, version := range plugin.Value.Items {
			if path := version.Get("installPath"); path != nil && filepath.Clean(path.Text) == filepath.Clean(dir) {
				is := enabled.Get(plugin.Key)
				return true, is == nil || is.Text != "false"
			}
		}
	}
	return false, false
}

// desktopExtension reports whether the user of Claude Desktop has an extension, whose directory is dir, switched on.
func desktopExtension(dir string) (listed, on bool) {
	is := readSettings(filepath.Join(filepath.Dir(filepath.Dir(dir)), "Claude Extensions Settings",
		filepath.Base(dir)+".json")).Get("isEnabled")
	return true, is == nil || is.Text != "false"
}

// readSettings reads a file of JSON that a client writes for itself; nil if it cannot.
func readSettings(name string) *syntax.Node {
	data, err := readFile(name, MaxFile)
	if err != nil {
		return nil
	}
	root, err := syntax.JSON.Parse(data, false)
	if err != nil {
		return nil
	}
	return root
}
