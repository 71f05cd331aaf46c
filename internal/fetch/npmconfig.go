package fetch

import (
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/net/http/httpproxy"
)

// NPMConfig is what npm's configuration says.
type NPMConfig struct {
	// Setting gives the value of a key as it stands in an .npmrc file, "" if unset.
	// These are asked for:
	//
	//	registry                       base URL
	//	@acme:registry                 base URL for a scope
	//	//npm.example.com/:_authToken  bearer token for a host, or a path below it
	//	//npm.example.com/:_auth       base64 of user:password
	//	//npm.example.com/:username    with :_password, which is base64
	//	replace-registry-host          npmjs (default), never, always or a host
	//
	// Nil means no settings: the public registry without credentials.
	Setting func(key string) string

	// RootCAs are the authorities for npm alone; nil means those of Config.
	RootCAs *x509.CertPool

	// Proxy is for npm alone; nil means that of Config.
	Proxy func(*url.URL) (*url.URL, error)
}

// UserConfig is the configuration that a user already has.
//
// For npm these are, the first that names a key winning: variables npm_config_KEY
// and NPM_CONFIG_KEY, projectDir/.npmrc, the user's file (~/.npmrc or what
// npm_config_userconfig names) and the global file (PREFIX/etc/npmrc or what
// globalconfig names). The authorities of cafile and NODE_EXTRA_CA_CERTS are added
// to the system's for npm. HTTPS_PROXY and NO_PROXY count for everything, npm's
// own https-proxy, proxy and noproxy for npm. strict-ssl=false is not honoured.
//
// env is [os.Getenv] or a stand-in; projectDir and home may be empty.
func UserConfig(env func(string) string, projectDir, home string) (Config, error) {
	var config Config
	layers := []func(string) string{func(key string) string { return npmEnv(env, key) }}
	setting := func(key string) string {
		for _, layer := range layers {
			if v := layer(key); v != "" {
				return v
			}
		}
		return ""
	}
	add := func(path string) error {
		text, err := readFile(path, maxNPMRC)
		if err != nil {
			return fmt.Errorf("npm configuration: %w", err)
		}
		file := parseNPMRC(text, env)
		layers = append(layers, func(key string) string { return file[key] })
		return nil
	}

	user := npmEnv(env, "userconfig")
	if user == "" && home != "" {
		user = filepath.Join(home, ".npmrc")
	}
	user = resolve(user, projectDir, home)
	if projectDir != "" {
		if err := add(filepath.Join(projectDir, ".npmrc")); err != nil {
			return config, err
		}
	}
	if user != "" {
		if err := add(user); err != nil {
			return config, err
		}
	}
	if global := globalNPMRC(setting, env); global != "" {
		if err := add(resolve(global, projectDir, home)); err != nil {
			return config, err
		}
	}
	config.NPM.Setting = setting

	var err error
	config.NPM.RootCAs, err = npmAuthorities(
		resolve(setting("cafile"), projectDir, home),
		resolve(env("NODE_EXTRA_CA_CERTS"), projectDir, home))
	if err != nil {
		return config, err
	}

	proxies := proxyEnvironment(env)
	config.Proxy = proxies.ProxyFunc()
	if p := cmp.Or(setting("https-proxy"), setting("proxy")); p != "" && p != "true" && p != "null" {
		if p == "false" {
			p = ""
		}
		proxies.HTTPSProxy = p
		proxies.NoProxy = cmp.Or(setting("noproxy"), proxies.NoProxy)
		config.NPM.Proxy = proxies.ProxyFunc()
	}

	if setting("strict-ssl") == "false" || env("NODE_TLS_REJECT_UNAUTHORIZED") == "0" {
		config.Warnings = append(config.Warnings, "npm is configured not to verify TLS certificates; they are verified all the same (name your authority in cafile)")
	}
	if cmp.Or(setting("_authToken"), setting("_auth"), setting("_password")) != "" {
		config.Warnings = append(config.Warnings, "npm credentials that name no host are not sent; write //HOST/:_authToken")
	}
	return config, nil
}

// npmEnv is the value of a variable that stands for a key of npm's: any case of
// the prefix, "_" for "-" except at the beginning, keys that begin with "//" as
// they are.
func npmEnv(env func(string) string, key string) string {
	names := []string{key}
	if !strings.HasPrefix(key, "//") && key != "" {
		under := key[:1] + strings.ReplaceAll(key[1:], "-", "_")
		names = []string{under, strings.ToUpper(under), key}
	}
	for _, name := range names {
		if v := cmp.Or(env("npm_config_"+name), env("NPM_CONFIG_"+name)); v != "" {
			return expand(v, env)
		}
	}
	return ""
}

// globalNPMRC is the place of the global file: as configured, else below the
// prefix, which by default is where node is installed.
func globalNPMRC(setting, env func(string) string) string {
	if path := setting("globalconfig"); path != "" {
		return path
	}
	prefix := cmp.Or(setting("prefix"), env("PREFIX"))
	if prefix == "" && runtime.GOOS == "windows" && env("APPDATA") != "" {
		prefix = filepath.Join(env("APPDATA"), "npm")
	}
	if prefix == "" {
		for _, dir := range filepath.SplitList(env("PATH")) {
			if !filepath.IsAbs(dir) {
				continue // never what lies in the working directory
			}
			if node, err := filepath.EvalSymlinks(filepath.Join(dir, "node")); err == nil {
				prefix = filepath.Dir(filepath.Dir(node))
				break
			}
		}
	}
	if prefix == "" {
		return ""
	}
	return filepath.Join(prefix, "etc", "npmrc")
}

// npmAuthorities adds the certificates in files to the system's; nil if there are
// none. A missing file is passed over, as npm does.
func npmAuthorities(paths ...string) (*x509.CertPool, error) {
	var pool *x509.CertPool
	for _, path := range paths {
		if path == "" {
			continue
		}
		pem, err := readFile(path, 8<<20)
		if err != nil {
			return nil, fmt.Errorf("npm certificate authorities: %w", err)
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
			return nil, fmt.Errorf("npm certificate authorities: %s holds no certificate", path)
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
