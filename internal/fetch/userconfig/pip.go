package userconfig

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// parsePipConf reads pip's configuration: sections of keys in the ini dialect of
// Python. "=" or ":" ends a key, lines that begin with "#" or ";" are comments, and an
// indented line continues the value before it. Keys are of any case, and "_" is "-". A
// value's lines are joined by newlines. Nothing is an error: pip itself refuses a file that
// it cannot read.
func parsePipConf(text string) map[string]map[string]string {
	sections := make(map[string]map[string]string)
	var section map[string]string
	key := ""
	for line := range strings.SplitSeq(strings.TrimPrefix(text, "\ufeff"), "\n") {
		line = strings.TrimRight(line, "\r")
		trimmed := strings.TrimSpace(line)
		switch {
		case trimmed == "" || trimmed[0] == '#' || trimmed[0] == ';':
		case (line[0] == ' ' || line[0] == '\t') && key != "":
			section[key] = strings.TrimPrefix(section[key]+"\n"+trimmed, "\n")
		case trimmed[0] == '[':
			key, section = "", nil
			if name, _, ok := strings.Cut(trimmed[1:], "]"); ok {
				if sections[name] == nil {
					sections[name] = make(map[string]string)
				}
				section = sections[name]
			}
		default:
			key = ""
			i := strings.IndexAny(trimmed, "=:")
			if i <= 0 || section == nil {
				continue
			}
			key = strings.ReplaceAll(strings.ToLower(strings.TrimSpace(trimmed[:i])), "_", "-")
			key = strings.TrimPrefix(key, "--")
			if key != "" {
				section[key] = strings.TrimSpace(trimmed[i+1:])
			}
		}
	}
	return sections
}

// readPipSettings returns a function that gives pip's settings by their long names: variables
// first, then its files in pip's order, the section for installing before the global one.
func readPipSettings(env func(string) string, home string) (func(string) string, error) {
	global, install := make(map[string]string), make(map[string]string)
	for _, path := range pipFiles(env, home) {
		text, err := ReadFile(path, maxConfigFile)
		if err != nil {
			return nil, fmt.Errorf("pip configuration: %w", err)
		}
		sections := parsePipConf(text)
		maps.Copy(global, sections["global"])
		maps.Copy(install, sections["install"])
	}
	return func(key string) string {
		name := "PIP_" + strings.ToUpper(strings.ReplaceAll(key, "-", "_"))
		return cmp.Or(env(name), install[key], global[key])
	}, nil
}

// pipIndexes returns the indexes that pip's settings name.
func pipIndexes(pip func(string) string) indexList {
	list := indexList{standard: pypiIndex{url: pip("index-url")}}
	for _, u := range strings.Fields(pip("extra-index-url")) {
		list.extra = append(list.extra, pypiIndex{url: u})
	}
	return list
}

// pipFiles returns the paths of pip's files; later ones count more. PIP_CONFIG_FILE takes the
// place of the user's own; if it is the null device there are none.
func pipFiles(env func(string) string, home string) []string {
	named := env("PIP_CONFIG_FILE")
	if named == os.DevNull {
		return nil
	}
	file := "pip.conf"
	if runtime.GOOS == "windows" {
		file = "pip.ini"
	}
	var files []string
	add := func(elements ...string) {
		if elements[0] != "" {
			files = append(files, filepath.Join(append(elements, file)...))
		}
	}
	switch runtime.GOOS {
	case "windows":
		add(env("PROGRAMDATA"), "pip")
	case "darwin":
		add("/Library/Application Support/pip")
	default:
		for _, dir := range filepath.SplitList(cmp.Or(env("XDG_CONFIG_DIRS"), "/etc/xdg")) {
			add(dir, "pip")
		}
		add("/etc")
	}
	_, err := os.Stat(named)
	if named == "" || err != nil {
		if runtime.GOOS == "windows" {
			add(home, "pip")
			add(env("APPDATA"), "pip")
		} else if home != "" {
			add(home, ".pip")
			add(cmp.Or(env("XDG_CONFIG_HOME"), filepath.Join(home, ".config")), "pip")
			if runtime.GOOS == "darwin" {
				add(home, "Library/Application Support/pip")
			}
		}
	}
	add(env("VIRTUAL_ENV"))
	if named != "" && err == nil {
		files = append(files, named)
	}
	return files
}
