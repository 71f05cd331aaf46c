package fetch

import (
	"cmp"
	"crypto/x509"
	"fmt"
	"net/url"
	"path/filepath"
	"runtime"
	"strings"
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

	// Authorities gives those for npm alone. It is asked once, before the first request,
	// as reading them takes longer than most commands do. If it is nil or gives nil, those
	// of Config count.
	Authorities func() (*x509.CertPool, error)

	// Proxy is for npm alone; nil means that of Config.
	Proxy func(*url.URL) (*url.URL, error)
}

// npmUser reads npm's configuration of a user into config.
func npmUser(config *Config, env func(string) string, projectDir, home string) error {
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
			return err
		}
	}
	if user != "" {
		if err := add(user); err != nil {
			return err
		}
	}
	if global := globalNPMRC(setting, env); global != "" {
		if err := add(resolve(global, projectDir, home)); err != nil {
			return err
		}
	}
	config.NPM.Setting = setting

	config.NPM.Authorities = authorities("npm",
		resolve(setting("cafile"), projectDir, home),
		resolve(env("NODE_EXTRA_CA_CERTS"), projectDir, home))

	proxies := proxyEnvironment(env)
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
	return nil
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
