package userconfig

import (
	"cmp"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/hallmark-mcp/hallmark/artifact"
)

// Cargo says where crates come from.
type Cargo struct {
	// Index is the root of a sparse index, with or without cargo's "sparse+" before it.
	// "" is the index of the public registry, whose host begins with "index.".
	Index string

	// API is the base URL for readmes. "" is the one that the index's configuration names.
	API string
}

// maxReplacements bounds how often one source replaces another.
const maxReplacements = 8

// Cargo reads from cargo's configuration which index takes the place of the public one.
func (r *Reader) Cargo() (Cargo, error) {
	var none Cargo
	env, projectDir, home := r.Env, r.Project, r.Home
	type source struct {
		ReplaceWith string `toml:"replace-with"`
		Registry    string `toml:"registry"`
	}
	sources := make(map[string]source)
	registries := make(map[string]string)
	users := make(map[string]bool) // the URLs that the user's own files name
	own := env("CARGO_HOME")
	if own == "" && home != "" {
		own = filepath.Join(home, ".cargo")
	}
	var dirs []string
	if projectDir != "" {
		dirs = append(dirs, filepath.Join(projectDir, ".cargo"))
	}
	if own != "" {
		dirs = append(dirs, own)
	}
	for i, dir := range dirs {
		path := filepath.Join(dir, "config.toml")
		var text string
		var err error
		if i == 0 && projectDir != "" {
			text, err = readCheckout(projectDir, ".cargo/config.toml", maxConfigFile)
		} else {
			text, err = ReadFile(path, maxConfigFile)
		}
		if err != nil {
			return none, fmt.Errorf("cargo configuration: %w", err)
		}
		var file struct {
			Source     map[string]source `toml:"source"`
			Registries map[string]struct {
				Index string `toml:"index"`
			} `toml:"registries"`
		}
		if err := toml.Unmarshal([]byte(text), &file); err != nil {
			return none, fmt.Errorf("cargo configuration: %s: %w", path, err)
		}
		if own != "" && dir == own {
			for _, s := range file.Source {
				users[s.Registry] = true
			}
			for _, registry := range file.Registries {
				users[registry.Index] = true
			}
		}
		for name, s := range file.Source {
			have := sources[name] // members of a nearer file count more
			sources[name] = source{cmp.Or(have.ReplaceWith, s.ReplaceWith), cmp.Or(have.Registry, s.Registry)}
		}
		for name, registry := range file.Registries {
			registries[name] = cmp.Or(registries[name], registry.Index)
		}
	}
	name := "crates-io"
	for range maxReplacements {
		next := sources[name].ReplaceWith
		if next == "" {
			break
		}
		name = next
	}
	if name == "crates-io" {
		return none, nil
	}
	index := cmp.Or(sources[name].Registry, registries[name])
	if !strings.HasPrefix(index, "sparse+") {
		index = "source:" + url.PathEscape(name) // a directory or a git index, which cannot be asked
	}
	file := ".cargo/config.toml"
	if users[index] {
		file = ""
	}
	r.Named.Add(index, artifact.Cargo, file)
	return Cargo{Index: index}, nil
}
