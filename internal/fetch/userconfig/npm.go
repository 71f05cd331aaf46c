package userconfig

import (
	"cmp"
	"crypto/x509"
	"fmt"
	"net/url"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/internal/foreign"
)

// NPM is what npm's configuration says.
type NPM struct {
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
	// of everything else count.
	Authorities func() (*x509.CertPool, error)

	// Proxy is for npm alone; nil means that of everything else.
	Proxy func(*url.URL) (*url.URL, error)

	user    map[string]string // settings of the user's files, without those of the environment
	project npmProject        // of the checkout
	cafile  string            // absolute
	fill    func(template) (string, error)
}

// Value returns the value of a key, "" if it is unset.
func (n NPM) Value(key string) string {
	if n.Setting == nil {
		return ""
	}
	return n.Setting(key)
}

// sent is the value of a key that is about to be asked, or sent: a variable that a
// checkout's file names is looked up only if a person agreed.
func (n NPM) sent(key string) (string, error) {
	if t, ok := n.project.templates[key]; ok && n.fill != nil && n.Value(key) == "" {
		return n.fill(t)
	}
	return n.Value(key), nil
}

// NPM reads npm's configuration. Of the file of the checkout only named keys are taken, and
// variables in it are looked up when somebody agreed.
func (r *Reader) NPM() (NPM, error) {
	env, projectDir, home := r.Env, r.Project, r.Home
	var none NPM
	read := func(path string) (string, error) {
		text, err := ReadFile(path, maxNPMRC)
		if err != nil {
			return "", fmt.Errorf("npm configuration: %w", err)
		}
		return text, nil
	}
	fromEnv := func(key string) string { return npmEnv(env, key) }
	var checkout npmProject
	if projectDir != "" {
		text, err := readCheckout(projectDir, ".npmrc", maxNPMRC)
		if err != nil {
			return none, fmt.Errorf("npm configuration: %w", err)
		}
		checkout = readNPMProject(text, r.Ignored)
	}
	own := map[string]string{}
	ofUser := func(key string) string { return cmp.Or(fromEnv(key), own[key]) }
	user := npmEnv(env, "userconfig")
	if user == "" && home != "" {
		user = filepath.Join(home, ".npmrc")
	}
	if user = resolve(user, projectDir, home); user != "" {
		text, err := read(user)
		if err != nil {
			return none, err
		}
		own = parseNPMRC(text, env)
	}
	// Where the global file lies no checkout says.
	if global := globalNPMRC(ofUser, env, foreign.FindCheckout(projectDir, home)); global != "" {
		text, err := read(resolve(global, projectDir, home))
		if err != nil {
			return none, err
		}
		for key, value := range parseNPMRC(text, env) {
			own[key] = cmp.Or(own[key], value)
		}
	}
	setting := func(key string) string {
		if v := fromEnv(key); v != "" {
			return v
		}
		if _, waits := checkout.templates[key]; waits {
			return "" // see sent
		}
		if v := checkout.settings[key]; v != "" {
			return v
		}
		if _, _, credential := foreign.HostKey(key); credential && checkout.trust != "" {
			return "" // a checkout that says whom to trust on the way gets no secret of the user's
		}
		return own[key]
	}
	n := NPM{Setting: setting, user: own, project: checkout}
	agreement := r.Agreement
	n.fill = func(t template) (string, error) { return t.fill(env, agreement) }
	r.Named.Add(fromEnv("registry"), artifact.NPM, "")
	for key, value := range own {
		if registryKey(key) || proxyKey(key) {
			r.Named.Add(value, artifact.NPM, "")
		}
	}
	for key, value := range checkout.hosts() {
		if fromEnv(key) == "" { // a variable takes its place, for npm too
			r.Named.Add(value, artifact.NPM, ".npmrc, "+key)
		}
	}
	n.cafile = resolve(setting("cafile"), projectDir, home)
	if checkout.trust != "" && slices.ContainsFunc(sortedKeys(own), func(key string) bool {
		_, _,
			ok := foreign.HostKey(key)
		return ok
	}) {
		r.Ignored.add(".npmrc names " + checkout.trust + ", so that your own credentials for registries" +
			" are not sent from this checkout; write the key into your own .npmrc")
	}

	n.Authorities = authorities("npm",
		n.cafile,
		resolve(env("NODE_EXTRA_CA_CERTS"), projectDir, home))

	proxies := proxyEnvironment(env)
	key := "https-proxy"
	if setting(key) == "" {
		key = "proxy"
	}
	if p := setting(key); p != "" && p != "true" && p != "null" {
		if p == "false" {
			p = ""
		}
		proxies.HTTPSProxy = p
		proxies.NoProxy = cmp.Or(setting("noproxy"), proxies.NoProxy)
		n.Proxy = proxies.ProxyFunc()
		if p != "" && fromEnv(key) == "" && checkout.settings[key] != "" {
			n.Proxy = asking(agreement, ".npmrc, "+key, n.Proxy)
		}
	}

	if setting("strict-ssl") == "false" || env("NODE_TLS_REJECT_UNAUTHORIZED") == "0" {
		r.warn("npm is configured not to verify TLS certificates; they are verified all the same" +
			" (name your authority in cafile)")
	}
	if cmp.Or(setting("_authToken"), setting("_auth"), setting("_password")) != "" {
		r.warn("npm credentials that name no host are not sent; write //HOST/:_authToken")
	}
	return n, nil
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
// prefix, which by default is where node is installed: one of the checkout would make a file
// of the checkout the user's.
func globalNPMRC(setting, env func(string) string, checkout foreign.Checkout) string {
	if path := setting("globalconfig"); path != "" {
		return path
	}
	prefix := cmp.Or(setting("prefix"), env("PREFIX"))
	if prefix == "" && runtime.GOOS == "windows" && env("APPDATA") != "" {
		prefix = filepath.Join(env("APPDATA"), "npm")
	}
	if prefix == "" {
		for _, dir := range filepath.SplitList(checkout.FilterPath(env("PATH"))) {
			found := filepath.Join(dir, "node")
			if node, err := filepath.EvalSymlinks(found); err == nil && !checkout.Holds(found) {
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
