package local

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/plugin"
)

// moduleConfigs are files that a runtime of JavaScript reads by itself, and that say which file an import
// stands for, or what is loaded first. aboveConfigs are those that it also looks for above the project.
var (
	moduleConfigs = []string{"package.json", "deno.json", "deno.jsonc", "tsconfig.json", "jsconfig.json", "bunfig.toml"}
	aboveConfigs  = map[string][]string{
		"deno": {"deno.json", "deno.jsonc", "package.json", "deno.lock"},
		"bun":  {"tsconfig.json", "jsconfig.json"},
	}
)

// bunOptions keep bun from code and settings that nobody verified: packages that it would fetch if they
// are missing, and the variables of .env, which differ between machines.
var bunOptions = []string{"--no-install", "--no-env-file"}

// dotenvFiles are the files of the working directory whose variables bun sets.
var dotenvFiles = []string{".env", ".env.local", ".env.development", ".env.production", ".env.test",
	".env.development.local", ".env.production.local", ".env.test.local"}

// ignoredKeys are the keys of configuration files whose values name nothing that is loaded.
var ignoredKeys = []string{"include", "exclude", "files", "outDir", "rootDir", "declarationDir", "tsBuildInfoFile",
	"typeRoots", "types", "lib", "references", "$schema", "name", "version", "description", "license"}

// restrictBun gives bun the options bunOptions. If the #! line of the script starts bun, none can be added,
// and it adds the files whose variables bun sets.
func (r *readSet) restrictBun() error {
	s := r.p.Script
	if !s.First {
		r.p.Args = slices.Insert(r.p.Args, 1, bunOptions...)
		return nil
	}
	r.noteUnknown("its #! line lets bun fetch packages that are missing")
	for _, name := range dotenvFiles {
		if _, err := r.addFile(r.w.Path(name)); err != nil {
			return err
		}
	}
	return nil
}

// loadConfigs adds the configuration files of all directories above the files that are loaded, and loads
// what those that apply name.
func (m *modules) loadConfigs() error {
	language, top := m.p.Script.Language, filepath.Dir(m.p.Script.File)
	if language == "bun" { // bun looks in its working directory
		if err := m.addConfigs(m.w.Dir, moduleConfigs); err != nil {
			return err
		}
	}
	for ; m.configured < len(m.files); m.configured++ {
		for dir := filepath.Dir(m.files[m.configured]); !m.dirs[dir]; dir = filepath.Dir(dir) {
			m.dirs[dir] = true
			// Directories outside the project differ between machines.
			if rel, err := filepath.Rel(m.w.Dir, dir); dir == top || err == nil && filepath.IsLocal(rel) {
				if err := m.addConfigs(dir, moduleConfigs); err != nil {
					return err
				}
			}
			if err := m.addConfigs(dir, aboveConfigs[language]); err != nil {
				return err
			}
		}
	}
	for _, file := range m.configs {
		if m.read[file] || !m.applies(filepath.Base(file)) {
			continue
		}
		m.read[file] = true
		if err := m.loadMapping(file); err != nil {
			return err
		}
	}
	return nil
}

// addConfigs adds the configuration files of a directory that have one of names.
func (m *modules) addConfigs(dir string, names []string) error {
	for _, name := range names {
		file := filepath.Join(dir, name)
		if _, err := m.addFile(file); err != nil {
			return err
		}
		if m.taken[file] && !slices.Contains(m.configs, file) {
			m.configs = append(m.configs, file)
		}
	}
	return nil
}

// applies reports whether the runtime loads what a configuration file called name names. Deno does for
// every import; bun does for what it preloads, and if something is imported by name.
func (m *modules) applies(name string) bool {
	switch m.p.Script.Language {
	case "deno":
		return strings.HasPrefix(name, "deno.json") || m.maps[name]
	case "bun":
		return name == "bunfig.toml" || name != "package.json" && !strings.HasPrefix(name, "deno.") &&
			(m.importsByName || len(m.wideDirs) > 0)
	}
	return false
}

// loadMapping loads what a configuration file names: files, directories of patterns and of members, and
// other configuration files.
func (m *modules) loadMapping(file string) error {
	data, err := host.ReadFile(file, plugin.MaxManifest)
	if err != nil {
		return err
	}
	dir, comment := filepath.Dir(file), byte('/')
	if filepath.Ext(file) == ".toml" {
		comment = '#'
	}
	deno := m.p.Script.Language == "deno"
	if deno && bytes.Contains(data, []byte(`"vendor"`)) {
		m.vendored = append(m.vendored, filepath.Join(dir, "vendor"))
	}
	texts, bases := findLiterals(data, comment), []string{dir}
	for _, l := range texts {
		if l.key == "baseUrl" {
			bases = append(bases, m.w.Absolute(dir, l.text))
			m.widen(m.w.Absolute(dir, l.text))
		}
	}
	if len(texts)*len(bases) > maxNamed {
		return fmt.Errorf("%s names too many files to be covered", file)
	}
	for _, l := range texts {
		text := strings.TrimPrefix(l.text, "file://")
		scheme, _, _ := strings.Cut(text, ":")
		switch {
		case text == "" || len(text) > 4096 || strings.ContainsRune(text, 0) || slices.Contains(ignoredKeys, l.key):
			continue
		case slices.Contains([]string{"npm", "jsr", "http", "https"}, scheme):
			if deno {
				m.noteUnknown(filepath.Base(file) + " names " + text)
			}
			continue
		}
		for _, base := range bases {
			if err := m.loadMapped(base, text, l.key); err != nil {
				return err
			}
		}
	}
	return nil
}

// loadMapped loads what text names below base. text is a value of key in a configuration file.
func (m *modules) loadMapped(base, text, key string) error {
	before, _, pattern := strings.Cut(text, "*")
	name := m.w.Absolute(base, before)
	if pattern {
		if !strings.HasSuffix(before, "/") && before != "" {
			name = filepath.Dir(name)
		}
	} else if err := m.loadCandidates(name, 0); err != nil {
		return err
	}
	info, err := os.Stat(name)
	switch {
	case err != nil:
	case !info.IsDir():
		if key == "extends" || key == "importMap" {
			m.configs, m.maps[filepath.Base(name)] = append(m.configs, name), true
		}
	case pattern || strings.HasSuffix(before, "/") ||
		slices.Contains([]string{"workspace", "members", "links", "patch", "rootDirs"}, key):
		m.widen(name)
	}
	return nil
}
