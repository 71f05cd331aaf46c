package fetch

import (
	"cmp"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/modelcontextprotocol/registry/pkg/model"
)

// gitHubUser reads the variables of GitHub's command line.
func gitHubUser(env func(string) string) GitHubConfig {
	public, _ := url.Parse(model.RegistryURLGitHub)
	host := strings.ToLower(env("GH_HOST"))
	token := cmp.Or(env("GH_TOKEN"), env("GITHUB_TOKEN"))
	switch {
	case host == "" || host == public.Host:
		return GitHubConfig{Token: token}
	case strings.HasSuffix(host, ".ghe.com"): // an enterprise's part of the public service
		return GitHubConfig{Base: "https://" + host, Token: token}
	}
	return GitHubConfig{Base: "https://" + host, API: "https://" + host + "/api/v3",
		Token: cmp.Or(env("GH_ENTERPRISE_TOKEN"), env("GITHUB_ENTERPRISE_TOKEN"))}
}

// maxReplacements bounds how often one source replaces another.
const maxReplacements = 8

// cargoUser reads which index cargo asks in place of the public one.
func cargoUser(config *Config, env func(string) string, projectDir, home string) error {
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
			text, err = readFile(path, maxConfigFile)
		}
		if err != nil {
			return fmt.Errorf("cargo configuration: %w", err)
		}
		var file struct {
			Source     map[string]source `toml:"source"`
			Registries map[string]struct {
				Index string `toml:"index"`
			} `toml:"registries"`
		}
		if err := toml.Unmarshal([]byte(text), &file); err != nil {
			return fmt.Errorf("cargo configuration: %s: %w", path, err)
		}
		if own != "" && dir == own {
			for _, s := range file.Source {
				users[s.Registry] = true
			}
			for _, r := range file.Registries {
				users[r.Index] = true
			}
		}
		for name, s := range file.Source {
			have := sources[name] // members of a nearer file count more
			sources[name] = source{cmp.Or(have.ReplaceWith, s.ReplaceWith), cmp.Or(have.Registry, s.Registry)}
		}
		for name, r := range file.Registries {
			registries[name] = cmp.Or(registries[name], r.Index)
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
		return nil
	}
	index := cmp.Or(sources[name].Registry, registries[name])
	if !strings.HasPrefix(index, "sparse+") {
		index = "source:" + url.PathEscape(name) // a directory or a git index, which cannot be asked
	}
	config.Cargo.Index = index
	file := ".cargo/config.toml"
	if users[index] {
		file = ""
	}
	config.addHost(index, artifact.Cargo, file)
	return nil
}
