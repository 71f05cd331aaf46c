package userconfig

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/docker/cli/cli/config"
	"github.com/docker/cli/cli/config/configfile"
	"github.com/docker/cli/cli/config/types"
	"github.com/google/go-containerregistry/pkg/authn"
	ociname "github.com/google/go-containerregistry/pkg/name"

	"github.com/hallmark-mcp/hallmark/internal/foreign"
)

// dockerKeychain is the keychain of docker's configuration, or of podman's if docker has none:
// what `docker login` keeps, itself or through a helper program. The files are read at each
// use.
type dockerKeychain struct {
	env      func(string) string
	home     string
	checkout foreign.Checkout // no helper in it is started
}

// files returns the paths of the files; the first that exists counts.
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

// hosts returns the registries that the user's configuration has credentials for.
func (k dockerKeychain) hosts() (hosts []string) {
	for _, path := range k.files() {
		text, err := ReadFile(path, maxConfigFile)
		if err != nil {
			return nil // Resolve reports it
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

// Resolve implements [authn.Keychain].
func (k dockerKeychain) Resolve(target authn.Resource) (authn.Authenticator, error) {
	return k.ResolveContext(context.Background(), target)
}

// ResolveContext implements [authn.ContextKeychain]. A repository's own credentials come before
// those of its host.
func (k dockerKeychain) ResolveContext(ctx context.Context, target authn.Resource) (authn.Authenticator, error) {
	for _, path := range k.files() {
		text, err := ReadFile(path, maxConfigFile)
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
			found, err := findCredentials(ctx, file, key, k.checkout)
			if err != nil {
				return nil, fmt.Errorf("credential helper of %s: %w", path, err)
			}
			found.ServerAddress = ""
			if found == (types.AuthConfig{}) {
				continue
			}
			return authn.FromConfig(authn.AuthConfig{Username: found.Username, Password: found.Password,
				Auth:          found.Auth,
				IdentityToken: found.IdentityToken, RegistryToken: found.RegistryToken}), nil
		}
		break
	}
	return authn.Anonymous, nil
}

// findCredentials returns the credentials for key, a host or a repository, that file holds or
// that its helper has; zero if there are none. Those of DOCKER_AUTH_CONFIG come first, as for
// docker.
func findCredentials(ctx context.Context, file *configfile.ConfigFile, key string,
	checkout foreign.Checkout) (types.AuthConfig, error) {
	if key == ociname.DefaultRegistry {
		key = authn.DefaultAuthKey
	}
	helper, ok := file.CredentialHelpers[key]
	if !ok {
		helper = file.CredentialsStore
	}
	if helper == "" {
		return file.GetAuthConfig(key)
	}
	found, err := new(configfile.ConfigFile).GetAuthConfig(key)
	if found.ServerAddress = ""; err == nil && found != (types.AuthConfig{}) {
		return found, nil
	}
	return askHelper(ctx, helper, key, checkout)
}

// Limits of a credential helper.
const (
	helperTime   = time.Minute // it may ask the user in a window of its own
	helperOutput = 64 << 10    // bytes
)

// noCredentials is what helpers print, by their protocol, if they have none.
const noCredentials = "credentials not found in native keychain"

// askHelper asks the user's program docker-credential-NAME. It is run as any program that is not
// ours: see package foreign.
func askHelper(ctx context.Context, helper, key string, checkout foreign.Checkout) (none types.AuthConfig, _ error) {
	program := "docker-credential-" + helper
	if strings.ContainsAny(helper, `/\`) || helper == "" || len(helper) > 128 {
		return none, fmt.Errorf("%+q is not the name of a helper", helper)
	}
	environ := os.Environ()
	bin, err := checkout.Find(foreign.Variable(environ, "PATH"), program)
	if err != nil {
		return none, fmt.Errorf("%+q: %w", program, err)
	}
	dir, remove, err := foreign.MakeDir("", "credential-")
	if err != nil {
		return none, err
	}
	defer remove()
	out, err := foreign.Run(ctx, foreign.Call{
		Tool: foreign.Credential, Path: bin, Args: []string{"get"}, Dir: dir, Checkout: checkout, Environ: environ,
		Stdin: strings.NewReader(key), Time: helperTime, Output: helperOutput,
	})
	switch said := strings.TrimSpace(string(out.Stdout)); {
	case err != nil && said == noCredentials:
		return none, nil
	case err != nil: // what it printed may be a secret
		return none, fmt.Errorf("%+q: %w", program, err)
	}
	var said struct{ Username, Secret string }
	if err := json.NewDecoder(bytes.NewReader(out.Stdout)).Decode(&said); err != nil {
		return none, fmt.Errorf("%+q: its answer is not the JSON of a helper", program)
	}
	if said.Username == "<token>" {
		return types.AuthConfig{IdentityToken: said.Secret}, nil
	}
	return types.AuthConfig{Username: said.Username, Password: said.Secret}, nil
}
