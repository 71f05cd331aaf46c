package clients

import (
	"encoding/json"
	"path/filepath"
	"strings"
)

// readInstalled sets what follows from f being a part of a plugin or an extension of its client's user, at l. It
// reports whether the client has that installed.
func (f *File) readInstalled(l location, home string) bool {
	f.Installed, f.Root = true, f.Path
	for range strings.Count(l.path, "/") - strings.Count(l.installed, "/") {
		f.Root = filepath.Dir(f.Root)
	}
	if l.starts == nil {
		return true
	}
	listed, on := l.starts(f.Root, home)
	f.off = !on
	return listed
}

// claudePlugin reports whether a directory of Claude Code's cache is the installed version of a plugin, and whether
// the user has it switched on. Without a list that can be read each is.
func claudePlugin(dir, home string) (listed, on bool) {
	plugins := filepath.Dir(filepath.Dir(filepath.Dir(filepath.Dir(dir))))
	var list struct {
		Plugins map[string][]struct {
			InstallPath string `json:"installPath"`
		} `json:"plugins"`
	}
	var settings struct {
		EnabledPlugins map[string]any `json:"enabledPlugins"`
	}
	if !readSettings(filepath.Join(plugins, "installed_plugins.json"), &list) || list.Plugins == nil {
		return true, true
	}
	readSettings(filepath.Join(filepath.Dir(plugins), "settings.json"), &settings)
	for name, versions := range list.Plugins {
		for _, v := range versions {
			if filepath.Clean(v.InstallPath) == filepath.Clean(dir) {
				return true, settings.EnabledPlugins[name] != false
			}
		}
	}
	return false, false
}

// desktopExtension reports whether the user of Claude Desktop has an extension, whose directory is dir, switched on.
func desktopExtension(dir, _ string) (listed, on bool) {
	settings := struct {
		IsEnabled bool `json:"isEnabled"`
	}{true}
	readSettings(filepath.Join(filepath.Dir(filepath.Dir(dir)), "Claude Extensions Settings", filepath.Base(dir)+".json"), &settings)
	return true, settings.IsEnabled
}

// readSettings reads a file of JSON that a client writes for itself, and reports whether it could.
func readSettings(name string, v any) bool {
	data, err := readFile(name, MaxFile)
	return err == nil && json.Unmarshal(data, v) == nil
}
