package fetch

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/docker/cli/cli/config"
	"github.com/docker/cli/cli/config/types"
	"github.com/google/go-containerregistry/pkg/authn"
)

// dockerKeychain is the keychain of docker's configuration, or podman's where there is
// none: what `docker login` keeps, itself or through a helper program. The files are
// read at each use.
type dockerKeychain struct {
	env  func(string) string
	home string
}

// files are the places to look in; the first that exists counts.
func (k dockerKeychain) files() []string {
	var files []string
	add := func(elements ...string) {
		if elements[0] != "" {
			files = append(files, filepath.Join(elements...))
		}
	}
	if dir := k.env("DOCKER_CONFIG"); dir != "" {
		add(dir, "config.json")
	} else {
		add(k.home, ".docker", "config.json")
	}
	add(k.env("REGISTRY_AUTH_FILE"))
	add(k.env("XDG_RUNTIME_DIR"), "containers", "auth.json")
	add(k.env("XDG_CONFIG_HOME"), "containers", "auth.json")
	add(k.home, ".config", "containers", "auth.json")
	return files
}

// hosts are the registries that the user's configuration has credentials for.
func (k dockerKeychain) hosts() (hosts []string) {
	for _, path := range k.files() {
		text, err := readFile(path, maxConfigFile)
		if err != nil {
			return nil // who asks for credentials is told
		}
		if text == "" {
			continue
		}
		var file struct {
			Auths   map[string]json.RawMessage `json:"auths"`
			Helpers map[string]json.RawMessage `json:"credHelpers"`
		}
		if json.Unmarshal([]byte(text), &file) != nil {
			return nil
		}
		for _, keys := range []map[string]json.RawMessage{file.Auths, file.Helpers} {
			for key := range keys {
				host, _, _ := strings.Cut(strings.TrimPrefix(key, "https://"), "/")
				hosts = append(hosts, host)
			}
		}
		return hosts
	}
	return nil
}

// Resolve implements authn.Keychain. A repository's own credentials come before its
// host's.
func (k dockerKeychain) Resolve(target authn.Resource) (authn.Authenticator, error) {
	for _, path := range k.files() {
		text, err := readFile(path, maxConfigFile)
		if err != nil {
			return nil, err
		}
		if text == "" {
			continue
		}
		file, err := config.LoadFromReader(strings.NewReader(text))
		if err != nil {
			return nil, errors.New(path + " cannot be parsed") // the parser's message may hold a password
		}
		for _, key := range []string{target.String(), target.RegistryStr()} {
			found, err := file.GetAuthConfig(key)
			if err != nil {
				return nil, fmt.Errorf("credential helper of %s: %w", path, err)
			}
			found.ServerAddress = ""
			if found == (types.AuthConfig{}) {
				continue
			}
			return authn.FromConfig(authn.AuthConfig{Username: found.Username, Password: found.Password, Auth: found.Auth,
				IdentityToken: found.IdentityToken, RegistryToken: found.RegistryToken}), nil
		}
		break
	}
	return authn.Anonymous, nil
}
