package clients

import (
	"os"
	"path/filepath"
	"strings"
)

// readInstalled sets what follows from f being a part of a plugin or an extension of its client's user, at l. It
// reports whether the client has that installed.
func (f *File) readInstalled(m Machine, l location) bool {
	f.Installed, f.Root = true, f.Path
	for range strings.Count(l.path[strings.LastIndexByte(l.path, '*'):], "/") {
		f.Root = filepath.Dir(f.Root)
	}
	if l.starts == nil {
		return true
	}
	listed, on := l.starts(m, f.Root)
	f.off = !on
	return listed
}

// claudePlugin reports whether a directory of Claude Code's cache is the installed version of a plugin, and whether
// the user has it switched on. It is not listed only if another version of the plugin beside it is, and it is off only
// if nothing says that it is on.
func claudePlugin(m Machine, dir string) (listed, on bool) {
	plugins := filepath.Dir(filepath.Dir(filepath.Dir(filepath.Dir(dir))))
	other := false
	var names []string
	for _, plugin := range membersOf(readSettings(filepath.Join(plugins, "installed_plugins.json")).Get("plugins")) {
		versions := plugin.Value.Items
		if plugin.Value.Kind == Object {
			versions = []*Node{plugin.Value}
		}
		for _, version := range versions {
			path := version.Get("installPath")
			switch {
			case path == nil:
			case sameFile(path.Text, dir):
				names = append(names, plugin.Key)
			default:
				other = other || sameFile(filepath.Dir(path.Text), filepath.Dir(dir))
			}
		}
	}
	if len(names) == 0 {
		return !other, true
	}
	own := m.inHome(".claude")
	if named := m.getenv("CLAUDE_CONFIG_DIR"); named != "" {
		own = named
	}
	settings := []string{filepath.Join(own, "settings.json")}
	if m.Project != "" {
		settings = append(settings, filepath.Join(m.Project, ".claude", "settings.json"),
			filepath.Join(m.Project, ".claude", "settings.local.json"))
	}
	off := false
	for _, name := range settings {
		enabled := readSettings(name).Get("enabledPlugins")
		for _, plugin := range names {
			switch is := enabled.Get(plugin); {
			case is != nil && is.Text == "false":
				off = true
			case is != nil:
				return true, true
			}
		}
	}
	return true, !off
}

// sameFile reports whether two paths are of one directory.
func sameFile(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return filepath.Clean(a) == filepath.Clean(b)
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}

// desktopExtension reports whether the user of Claude Desktop has an extension, whose directory is dir, switched on.
func desktopExtension(_ Machine, dir string) (listed, on bool) {
	is := readSettings(filepath.Join(filepath.Dir(filepath.Dir(dir)), "Claude Extensions Settings",
		filepath.Base(dir)+".json")).Get("isEnabled")
	return true, is == nil || is.Text != "false"
}

// readSettings reads a file of JSON that a client writes for itself; nil if it cannot.
func readSettings(name string) *Node {
	data, err := readFile(name, MaxFile)
	if err != nil {
		return nil
	}
	root, err := JSON.Parse(data, false)
	if err != nil {
		return nil
	}
	return root
}
