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
	// Setting gives the value of a key as an .npmrc file has it, "" if unset.
	// These keys are looked up:
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

	// Authorities reads the authorities for npm alone. It is called once, before the first
	// request, because reading them takes longer than most commands do. If it is nil or gives
	// nil, npm has those of all others.
	Authorities func() (*x509.CertPool, error)

	// Proxy is for npm alone; nil means the proxy of all others.
	Proxy func(*url.URL) (*url.URL, error)

	user    map[string]string              // settings of the user's files, without the environment
	project npmProject                     // settings of the checkout
	cafile  string                         // absolute
	fill    func(template) (string, error) // looks up the variables of a template, with consent
}

// Value returns the value of a key, "" if it is unset.
func (n NPM) Value(key string) string {
	if n.Setting == nil {
		return ""
	}
	return n.Setting(key)
}

// valueToSend returns the value of a key for a request. It looks up a variable that a
// checkout's file names only if a person agreed, else the error says who must.
func (n NPM) valueToSend(key string) (string, error) {
	if t, ok := n.project.templates[key]; ok && n.fill != nil && n.Value(key) == "" {
		return n.fill(t)
	}
	return n.Value(key), nil
}

// NPM reads npm's configuration. Of the checkout's file it takes named keys only, and it does
// not look up variables there before a person agreed.
func (r *Reader) NPM() (NPM, error) {
	checkout, err := r.readCheckoutNPMRC()
	if err != nil {
		return NPM{}, err
	}
	own, err := r.readOwnNPMRC()
	if err != nil {
		return NPM{}, err
	}
	n := NPM{Setting: npmSettings(r.Env, checkout, own), user: own, project: checkout}
	env, agreement := r.Env, r.Agreement
	n.fill = func(t template) (string, error) { return t.fill(env, agreement) }
	r.nameNPMHosts(checkout, own)
	r.reportNPM(n)
	n.cafile = absolutePath(n.Value("cafile"), r.Project, r.Home)
	n.Authorities = authorities("npm", n.cafile, absolutePath(r.Env("NODE_EXTRA_CA_CERTS"), r.Project, r.Home))
	n.Proxy = r.npmProxy(n)
	return n, nil
}

// readCheckoutNPMRC reads the .npmrc of the checkout.
func (r *Reader) readCheckoutNPMRC() (npmProject, error) {
	if r.Project == "" {
		return npmProject{}, nil
	}
	text, err := readCheckout(r.Project, ".npmrc", maxNPMRC)
	if err != nil {
		return npmProject{}, fmt.Errorf("npm configuration: %w", err)
	}
	return readNPMProject(text, r.Ignored), nil
}

// readOwnNPMRC reads the user's file and the global one, whose settings count less.
func (r *Reader) readOwnNPMRC() (map[string]string, error) {
	own := map[string]string{}
	user := npmEnv(r.Env, "userconfig")
	if user == "" && r.Home != "" {
		user = filepath.Join(r.Home, ".npmrc")
	}
	if user = absolutePath(user, r.Project, r.Home); user != "" {
		text, err := ReadFile(user, maxNPMRC)
		if err != nil {
			return nil, fmt.Errorf("npm configuration: %w", err)
		}
		own = parseNPMRC(text, r.Env)
	}
	// A checkout has no say in where the global file is.
	ofUser := func(key string) string { return cmp.Or(npmEnv(r.Env, key), own[key]) }
	global := globalNPMRC(ofUser, r.Env, foreign.FindCheckout(r.Project, r.Home))
	if global == "" {
		return own, nil
	}
	text, err := ReadFile(absolutePath(global, r.Project, r.Home), maxNPMRC)
	if err != nil {
		return nil, fmt.Errorf("npm configuration: %w", err)
	}
	for key, value := range parseNPMRC(text, r.Env) {
		own[key] = cmp.Or(own[key], value)
	}
	return own, nil
}

// npmSettings returns the function that gives the value of a key: of the environment, of the
// checkout, or of the user's own files.
func npmSettings(env func(string) string, checkout npmProject, own map[string]string) func(string) string {
	return func(key string) string {
		if v := npmEnv(env, key); v != "" {
			return v
		}
		if _, waits := checkout.templates[key]; waits {
			return "" // see valueToSend
		}
		if v := checkout.settings[key]; v != "" {
			return v
		}
		if isHostKey(key) && checkout.trust != "" {
			return "" // a checkout that names a proxy or an authority gets no secret of the user's
		}
		return own[key]
	}
}

// isHostKey reports whether a key of npm's is for a host, as those of credentials are.
func isHostKey(key string) bool {
	_, _, ok := foreign.HostKey(key)
	return ok
}

// nameNPMHosts notes the hosts that npm's configuration names, and who names each.
func (r *Reader) nameNPMHosts(checkout npmProject, own map[string]string) {
	r.Named.Add(npmEnv(r.Env, "registry"), artifact.NPM, "")
	for key, value := range own {
		if isRegistryKey(key) || isProxyKey(key) {
			r.Named.Add(value, artifact.NPM, "")
		}
	}
	for key, value := range checkout.hosts() {
		if npmEnv(r.Env, key) == "" { // else the variable counts, for npm too
			r.Named.Add(value, artifact.NPM, ".npmrc, "+key)
		}
	}
}

// npmProxy returns npm's own proxy, nil if it has none.
func (r *Reader) npmProxy(n NPM) proxyFunc {
	key := "https-proxy"
	if n.Value(key) == "" {
		key = "proxy"
	}
	p := n.Value(key)
	if p == "" || p == "true" || p == "null" {
		return nil
	}
	if p == "false" {
		p = ""
	}
	proxies := proxyEnvironment(r.Env)
	proxies.HTTPSProxy = p
	proxies.NoProxy = cmp.Or(n.Value("noproxy"), proxies.NoProxy)
	if p != "" && npmEnv(r.Env, key) == "" && n.project.settings[key] != "" {
		return withConsent(r.Agreement, ".npmrc, "+key, proxies.ProxyFunc())
	}
	return proxies.ProxyFunc()
}

// reportNPM notes the settings that are not taken or not honoured.
func (r *Reader) reportNPM(n NPM) {
	if n.project.trust != "" && slices.ContainsFunc(sortedKeys(n.user), isHostKey) {
		r.Ignored.add(".npmrc names " + n.project.trust + ", so that your own credentials for registries" +
			" are not sent from this checkout; write the key into your own .npmrc")
	}
	if n.Value("strict-ssl") == "false" || r.Env("NODE_TLS_REJECT_UNAUTHORIZED") == "0" {
		r.warn("npm is configured not to verify TLS certificates; they are verified all the same" +
			" (name your authority in cafile)")
	}
	if cmp.Or(n.Value("_authToken"), n.Value("_auth"), n.Value("_password")) != "" {
		r.warn("npm credentials that name no host are not sent; write //HOST/:_authToken")
	}
}

// npmEnv returns the value of the variable that stands for a key of npm's: with the prefix in
// either case, and "_" for "-" except at the beginning. Keys that begin with "//" stay as
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

// globalNPMRC returns where the global file is: as configured, else below the prefix, which by
// default is where node is installed. A node in the checkout does not count: a file of the
// checkout would be taken for the user's.
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
