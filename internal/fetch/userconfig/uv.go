package userconfig

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/registry/pkg/model"
	"github.com/pelletier/go-toml/v2"

	"github.com/hallmark-mcp/hallmark/internal/wire"
)

// defaultIndex is the default index if only further ones are configured.
const defaultIndex = model.RegistryURLPyPI + "/simple"

// pypiIndex is an index of a configuration.
type pypiIndex struct {
	url, user, password string
	checkout            string             // the file of a checkout that names it, if one does
	uses                []wire.VariableUse // of user and password, if a checkout's file chose their names
}

// indexList is the indexes of a configuration.
type indexList struct {
	standard pypiIndex // takes the place of the public index
	extra    []pypiIndex
}

// inOrder returns the indexes in the order in which they are asked. The default one is always
// asked, and last; none if nothing is configured.
func (l indexList) inOrder() []pypiIndex {
	if len(l.extra) == 0 && l.standard.url == "" {
		return nil
	}
	last := l.standard
	last.url = cmp.Or(last.url, defaultIndex)
	return append(slices.Clone(l.extra), last)
}

// uvFile is what is read of uv.toml, and of [tool.uv] in pyproject.toml.
type uvFile struct {
	Index []struct {
		Name     string `toml:"name"`
		URL      string `toml:"url"`
		Default  bool   `toml:"default"`
		Explicit bool   `toml:"explicit"` // only for packages that name it
	} `toml:"index"`
	IndexURL      string   `toml:"index-url"`
	ExtraIndexURL []string `toml:"extra-index-url"`
}

// uvIndexes returns the indexes that uv's configuration names: its variables, then its files.
func (r *Reader) uvIndexes() (indexList, error) {
	env, projectDir := r.Env, r.Project
	var list indexList
	add := func(text string, standard bool) {
		name, rest, named := strings.Cut(text, "=")
		if !named || strings.ContainsAny(name, ":/") {
			name, rest = "", text
		}
		list.add(env, "", name, rest, standard)
	}
	if text := cmp.Or(env("UV_DEFAULT_INDEX"), env("UV_INDEX_URL")); text != "" {
		add(text, true)
	}
	for _, text := range strings.Fields(env("UV_INDEX") + " " + env("UV_EXTRA_INDEX_URL")) {
		add(text, false)
	}
	for _, path := range uvFiles(env, projectDir, r.Home) {
		checkout := ""
		if projectDir != "" && filepath.Dir(path) == filepath.Clean(projectDir) && env("UV_CONFIG_FILE") == "" {
			checkout = filepath.Base(path)
		}
		file, text, err := readUVFile(path, projectDir, checkout)
		if err != nil {
			return list, fmt.Errorf("uv configuration: %w", err)
		}
		if checkout == "uv.toml" {
			noteUVKeys(text, r.Ignored)
		}
		for _, ix := range file.Index {
			if !ix.Explicit || ix.Default {
				list.add(env, checkout, ix.Name, ix.URL, ix.Default)
			}
		}
		if file.IndexURL != "" {
			list.add(env, checkout, "", file.IndexURL, true)
		}
		for _, u := range file.ExtraIndexURL {
			list.add(env, checkout, "", u, false)
		}
	}
	return list, nil
}

// readUVFile reads a file of uv's configuration, and returns its text, too. checkout is its name if the project has it,
// else "".
func readUVFile(path, project, checkout string) (file uvFile, text string, err error) {
	if checkout != "" {
		text, err = readCheckout(project, checkout, maxConfigFile)
	} else {
		text, err = ReadFile(path, maxConfigFile)
	}
	if err != nil {
		return file, "", err
	}
	if filepath.Base(path) == "pyproject.toml" {
		var whole struct {
			Tool struct {
				UV uvFile `toml:"uv"`
			} `toml:"tool"`
		}
		err = toml.Unmarshal([]byte(text), &whole)
		file = whole.Tool.UV
	} else {
		err = toml.Unmarshal([]byte(text), &file)
	}
	if err != nil {
		return file, "", fmt.Errorf("%s: %w", path, err)
	}
	return file, text, nil
}

// noteUVKeys notes which keys of a checkout's uv.toml are not taken.
func noteUVKeys(text string, dropped *IgnoredSettings) {
	var all map[string]any
	if toml.Unmarshal([]byte(text), &all) != nil {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if key != "index" && key != "index-url" && key != "extra-index-url" {
			dropped.note("uv.toml", key, "")
		}
	}
}

// add appends an index; the first default counts. Variables hold the credentials of an index
// that has a name. If a file of a checkout chose the name, it chose the variables.
func (l *indexList) add(env func(string) string, checkout, name, address string, standard bool) {
	ix := pypiIndex{url: address, checkout: checkout}
	if name != "" {
		key := strings.Map(func(r rune) rune {
			if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
				return r
			}
			return '_'
		}, name)
		prefix := "UV_INDEX_" + strings.ToUpper(key)
		ix.user, ix.password = env(prefix+"_USERNAME"), env(prefix+"_PASSWORD")
		if u, err := url.Parse(address); err == nil && checkout != "" {
			for _, part := range []string{"_USERNAME", "_PASSWORD"} {
				if env(prefix+part) != "" {
					ix.uses = append(ix.uses, wire.VariableUse{Variable: prefix + part, Host: wire.HostPort(u),
						File: checkout})
				}
			}
		}
	}
	switch {
	case !standard:
		l.extra = append(l.extra, ix)
	case l.standard.url == "":
		l.standard = ix
	}
}

// uvFiles returns the paths of uv's files; earlier ones count more. A project's uv.toml takes
// the place of its pyproject.toml.
func uvFiles(env func(string) string, projectDir, home string) []string {
	if env("UV_NO_CONFIG") != "" {
		return nil
	}
	if path := env("UV_CONFIG_FILE"); path != "" {
		return []string{absolutePath(path, projectDir, home)}
	}
	var files []string
	if projectDir != "" {
		own := filepath.Join(projectDir, "uv.toml")
		if text, err := readCheckout(projectDir, "uv.toml", maxConfigFile); err == nil && text == "" {
			own = filepath.Join(projectDir, "pyproject.toml")
		}
		files = append(files, own)
	}
	dir, system := env("XDG_CONFIG_HOME"), "/etc"
	if runtime.GOOS == "windows" {
		dir, system = env("APPDATA"), env("PROGRAMDATA")
	} else if dir == "" && home != "" {
		dir = filepath.Join(home, ".config")
	}
	for _, d := range []string{dir, system} {
		if d != "" {
			files = append(files, filepath.Join(d, "uv", "uv.toml"))
		}
	}
	return files
}

// chosenUV are the keys by which uv chooses versions and authorities. They are taken of the
// user's and the system's uv.toml.
var chosenUV = []string{"index-strategy", "exclude-newer", "prerelease", "resolution", "fork-strategy", "native-tls",
	"system-certs"}

// readUVSettings reads chosenUV from the files of the user and of the system; the user's count
// first, and before them the variable that a user sets for the age of versions.
func readUVSettings(env func(string) string, home string) map[string]any {
	chosen := map[string]any{}
	if text := env("UV_EXCLUDE_NEWER"); text != "" {
		chosen["exclude-newer"] = text
	}
	for _, path := range uvFiles(env, "", home) {
		text, err := ReadFile(path, maxConfigFile)
		if err != nil || filepath.Base(path) == "pyproject.toml" {
			continue // uvIndexes reports what is wrong
		}
		var all map[string]any
		if toml.Unmarshal([]byte(text), &all) != nil {
			continue
		}
		for _, key := range chosenUV {
			value := all[key]
			if pip, ok := all["pip"].(map[string]any); ok && value == nil {
				value = pip[key]
			}
			if _, have := chosen[key]; !have && value != nil {
				chosen[key] = value
			}
		}
	}
	return chosen
}
