// Package userconfig reads the configuration that a user already has for npm, uv, pip, GitHub,
// cargo and docker, and says which settings count in a checkout.
//
// For npm these are, the first that names a key winning: variables npm_config_KEY
// and NPM_CONFIG_KEY, the checkout/.npmrc, the user's file (~/.npmrc or what
// npm_config_userconfig names) and the global file (PREFIX/etc/npmrc or what
// globalconfig names). The authorities of cafile and NODE_EXTRA_CA_CERTS are added
// to the system's for npm, and npm's own https-proxy, proxy and noproxy count for it.
// strict-ssl=false is not honoured.
//
// For PyPI these are uv's, and pip's where uv's name no index: UV_DEFAULT_INDEX or
// UV_INDEX_URL, UV_INDEX and UV_EXTRA_INDEX_URL, UV_INDEX_NAME_USERNAME and _PASSWORD,
// uv.toml or [tool.uv] of pyproject.toml in the checkout, the user's and the system's
// uv.toml; PIP_INDEX_URL, PIP_EXTRA_INDEX_URL and pip's files. Further indexes are
// asked before the default one, as uv does, so that a name of theirs cannot be taken
// by a stranger on the public one. Credentials are those in the indexes' URLs, uv's
// variables and netrc (NETRC, ~/.netrc, ~/_netrc), whose default entry is not used.
// The authorities of PIP_CERT, pip's cert and REQUESTS_CA_BUNDLE are added to the
// system's for PyPI. trusted-host is not honoured.
//
// For GitHub these are GH_HOST and GH_TOKEN or GITHUB_TOKEN, and for a host of an
// enterprise GH_ENTERPRISE_TOKEN or GITHUB_ENTERPRISE_TOKEN. For crates it is the
// sparse index that replaces the public registry in cargo's config.toml (the checkout,
// then CARGO_HOME or ~/.cargo). For images these are the credentials of docker's
// config.json (DOCKER_CONFIG or ~/.docker) or podman's auth.json, helper programs
// included.
//
// HTTPS_PROXY and NO_PROXY count for everything.
//
// A checkout's files are not trusted: hosts that they name are noted as theirs, and variables
// in them are not looked up before a person agreed; see package wire. A file that does not
// exist counts as one without settings.
package userconfig

import (
	"cmp"
	"net/url"

	"github.com/google/go-containerregistry/pkg/authn"
	"golang.org/x/net/http/httpproxy"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/internal/foreign"
	"github.com/hallmark-mcp/hallmark/internal/wire"
)

// Reader reads the configuration of one user, as far as it counts in one checkout. It collects
// what the files of all tools have in common.
type Reader struct {
	Env       func(string) string // os.Getenv or a stand-in
	Project   string              // the directory of the checkout; may be empty
	Home      string              // the user's; may be empty
	Agreement *wire.Agreement     // consulted when a value is needed, not when it is read

	Named    wire.Named       // hosts that were read so far
	Ignored  *IgnoredSettings // settings of the checkout's files that are not taken; not nil
	Warnings []string         // settings that are not honoured
}

// warn adds a warning.
func (r *Reader) warn(text string) { r.Warnings = append(r.Warnings, text) }

// Proxy returns the proxy of the environment, for every ecosystem without one of its own.
func (r *Reader) Proxy() func(*url.URL) (*url.URL, error) {
	return proxyEnvironment(r.Env).ProxyFunc()
}

// Keychain returns the credentials of docker's configuration, or podman's.
func (r *Reader) Keychain() authn.Keychain {
	keychain := dockerKeychain{r.Env, r.Home, foreign.FindCheckout(r.Project, r.Home)}
	for _, host := range keychain.hosts() {
		r.Named.Add("https://"+host, artifact.OCI, "")
	}
	return keychain
}

// proxyEnvironment reads the variables of a proxy.
func proxyEnvironment(env func(string) string) *httpproxy.Config {
	return &httpproxy.Config{
		HTTPProxy:  cmp.Or(env("HTTP_PROXY"), env("http_proxy")),
		HTTPSProxy: cmp.Or(env("HTTPS_PROXY"), env("https_proxy")),
		NoProxy:    cmp.Or(env("NO_PROXY"), env("no_proxy")),
	}
}
