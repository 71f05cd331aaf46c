package fetch

import (
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/net/http/httpproxy"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/internal/beneath"
	"github.com/hallmark-mcp/hallmark/internal/foreign"
)

// UserConfig is the configuration that a user already has.
//
// For npm these are, the first that names a key winning: variables npm_config_KEY
// and NPM_CONFIG_KEY, projectDir/.npmrc, the user's file (~/.npmrc or what
// npm_config_userconfig names) and the global file (PREFIX/etc/npmrc or what
// globalconfig names). The authorities of cafile and NODE_EXTRA_CA_CERTS are added
// to the system's for npm, and npm's own https-proxy, proxy and noproxy count for it.
// strict-ssl=false is not honoured.
//
// For PyPI these are uv's, and pip's where uv's name no index: UV_DEFAULT_INDEX or
// UV_INDEX_URL, UV_INDEX and UV_EXTRA_INDEX_URL, UV_INDEX_NAME_USERNAME and _PASSWORD,
// uv.toml or [tool.uv] of pyproject.toml in projectDir, the user's and the system's
// uv.toml; PIP_INDEX_URL, PIP_EXTRA_INDEX_URL and pip's files. Further indexes are
// asked before the default one, as uv does, so that a name of theirs cannot be taken
// by a stranger on the public one. Credentials are those in the indexes' URLs, uv's
// variables and netrc (NETRC, ~/.netrc, ~/_netrc), whose default entry is not used.
// The authorities of PIP_CERT, pip's cert and REQUESTS_CA_BUNDLE are added to the
// system's for PyPI. trusted-host is not honoured.
//
// For GitHub these are GH_HOST and GH_TOKEN or GITHUB_TOKEN, and for a host of an
// enterprise GH_ENTERPRISE_TOKEN or GITHUB_ENTERPRISE_TOKEN. For crates it is the
// sparse index that replaces the public registry in cargo's config.toml (projectDir,
// then CARGO_HOME or ~/.cargo). For images these are the credentials of docker's
// config.json (DOCKER_CONFIG or ~/.docker) or podman's auth.json, helper programs
// included.
//
// HTTPS_PROXY and NO_PROXY count for everything.
//
// env is [os.Getenv] or a stand-in; projectDir and home may be empty.
func UserConfig(env func(string) string, projectDir, home string) (Config, error) {
	config := Config{Agreement: new(Agreement), ignored: new(ignored), theirs: map[string]HostUse{}}
	config.Proxy = proxyEnvironment(env).ProxyFunc()
	if err := npmUser(&config, env, projectDir, home); err != nil {
		return config, err
	}
	if err := pypiUser(&config, env, projectDir, home); err != nil {
		return config, err
	}
	config.GitHub = gitHubUser(env)
	if err := cargoUser(&config, env, projectDir, home); err != nil {
		return config, err
	}
	keychain := dockerKeychain{env, home, foreign.FindCheckout(projectDir, home)}
	config.OCI.Keychain = keychain
	for _, host := range keychain.hosts() {
		config.addHost("https://"+host, artifact.OCI, "")
	}
	return config, nil
}

// authorities gives what adds the certificates in a tool's files to the system's, when it
// is asked; nil if no file is named.
func authorities(tool string, paths ...string) func() (*x509.CertPool, error) {
	if cmp.Or(paths...) == "" {
		return nil
	}
	return func() (*x509.CertPool, error) { return readAuthorities(tool, paths) }
}

// readAuthorities is nil if there are no certificates. A missing file is passed over.
func readAuthorities(tool string, paths []string) (*x509.CertPool, error) {
	var pool *x509.CertPool
	for _, path := range paths {
		if path == "" {
			continue
		}
		pem, err := readRegular(path, 8<<20) // a checkout may have named it
		if err != nil {
			return nil, fmt.Errorf("%s certificate authorities: %w", tool, err)
		}
		if pem == "" {
			continue
		}
		if pool == nil {
			if pool, err = x509.SystemCertPool(); err != nil {
				pool = x509.NewCertPool()
			}
		}
		if !pool.AppendCertsFromPEM([]byte(pem)) {
			return nil, fmt.Errorf("%s certificate authorities: %s holds no certificate", tool, path)
		}
	}
	return pool, nil
}

func proxyEnvironment(env func(string) string) *httpproxy.Config {
	return &httpproxy.Config{
		HTTPProxy:  cmp.Or(env("HTTP_PROXY"), env("http_proxy")),
		HTTPSProxy: cmp.Or(env("HTTPS_PROXY"), env("https_proxy")),
		NoProxy:    cmp.Or(env("NO_PROXY"), env("no_proxy")),
	}
}

// readFile reads at most limit bytes; a file that is not there is empty.
func readFile(path string, limit int64) (string, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return "", err
	}
	if int64(len(data)) > limit {
		return "", fmt.Errorf("%s is larger than %d bytes", path, limit)
	}
	return string(data), nil
}

// readRegular is readFile that waits for nothing.
func readRegular(path string, limit int64) (string, error) {
	data, err := beneath.ReadFile(path, limit)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return string(data), err
}

// readCheckout reads a file of a checkout as readFile does, and nothing that a link leads to
// outside of it: what is read may be shown.
func readCheckout(dir, name string, limit int64) (string, error) {
	data, err := beneath.ReadIn(dir, name, limit)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	var at *fs.PathError
	if errors.As(err, &at) {
		return "", fmt.Errorf("%s %w", name, at.Err)
	}
	return string(data), err
}

// resolve makes a configured path absolute.
func resolve(path, dir, home string) string {
	if path == "" {
		return ""
	}
	if rest, ok := strings.CutPrefix(path, "~/"); ok && home != "" {
		return filepath.Join(home, rest)
	}
	if !filepath.IsAbs(path) && dir != "" {
		return filepath.Join(dir, path)
	}
	return filepath.Clean(path)
}
