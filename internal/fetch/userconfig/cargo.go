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

// cargoFile is what is read of a config.toml.
type cargoFile struct {
	Source     map[string]cargoSource `toml:"source"`
	Registries map[string]struct {
		Index string `toml:"index"`
	} `toml:"registries"`
}

// cargoSource is where cargo takes crates from, or the name of another source in its place.
type cargoSource struct {
	ReplaceWith string `toml:"replace-with"`
	Registry    string `toml:"registry"`
}

// Cargo reads from cargo's configuration which index takes the place of the public one.
func (r *Reader) Cargo() (Cargo, error) {
	sources := cargoSources{byName: map[string]cargoSource{}, indexes: map[string]string{}, users: map[string]bool{}}
	own := r.Env("CARGO_HOME")
	if own == "" && r.Home != "" {
		own = filepath.Join(r.Home, ".cargo")
	}
	if r.Project != "" {
		dir := filepath.Join(r.Project, ".cargo")
		text, err := readCheckout(r.Project, ".cargo/config.toml", maxConfigFile)
		if err == nil {
			err = sources.addFile(text, filepath.Join(dir, "config.toml"), dir == own)
		}
		if err != nil {
			return Cargo{}, fmt.Errorf("cargo configuration: %w", err)
		}
	}
	if own != "" {
		path := filepath.Join(own, "config.toml")
		text, err := ReadFile(path, maxConfigFile)
		if err == nil {
			err = sources.addFile(text, path, true)
		}
		if err != nil {
			return Cargo{}, fmt.Errorf("cargo configuration: %w", err)
		}
	}
	index := sources.replacement()
	if index == "" {
		return Cargo{}, nil
	}
	file := ".cargo/config.toml"
	if sources.users[index] {
		file = ""
	}
	r.Named.Add(index, artifact.Cargo, file)
	return Cargo{Index: index}, nil
}

// cargoSources are the sources of all files together.
type cargoSources struct {
	byName  map[string]cargoSource
	indexes map[string]string // URLs of registries, by their names
	users   map[string]bool   // the URLs that the user's own files name
}

// addFile adds what a file says. Files that were added before count more, member by member.
func (c cargoSources) addFile(text, path string, isUsers bool) error {
	var file cargoFile
	if err := toml.Unmarshal([]byte(text), &file); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for name, s := range file.Source {
		have := c.byName[name]
		c.byName[name] = cargoSource{cmp.Or(have.ReplaceWith, s.ReplaceWith), cmp.Or(have.Registry, s.Registry)}
		if isUsers {
			c.users[s.Registry] = true
		}
	}
	for name, registry := range file.Registries {
		c.indexes[name] = cmp.Or(c.indexes[name], registry.Index)
		if isUsers {
			c.users[registry.Index] = true
		}
	}
	return nil
}

// replacement returns the sparse index that takes the place of the public one, "" if none does.
// For a directory or a git index, which cannot be asked, it is no URL but "source:" and the name.
func (c cargoSources) replacement() string {
	const public = "crates-io"
	name := public
	for range maxReplacements {
		next := c.byName[name].ReplaceWith
		if next == "" {
			break
		}
		name = next
	}
	if name == public {
		return ""
	}
	index := cmp.Or(c.byName[name].Registry, c.indexes[name])
	if !strings.HasPrefix(index, "sparse+") {
		return "source:" + url.PathEscape(name)
	}
	return index
}
