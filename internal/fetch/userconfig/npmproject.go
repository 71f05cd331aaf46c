package userconfig

import (
	"net/url"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/foreign"
	"github.com/hallmark-mcp/hallmark/internal/wire"
)

// npmProject is what is taken of the .npmrc of a checkout.
type npmProject struct {
	settings  map[string]string   // that name no variable
	templates map[string]template // that name variables: registries, and credentials for a host
	trust     string              // a key of it that names a proxy or an authority; "" if none does
}

// readNPMProject takes the named keys of a checkout's .npmrc, and notes all others in dropped.
func readNPMProject(text string, dropped *IgnoredSettings) npmProject {
	const file = ".npmrc"
	p := npmProject{settings: map[string]string{}, templates: map[string]template{}}
	for _, s := range parseNPMSettings(text) {
		switch {
		case s.bare && !foreign.ProjectNPMKey(s.key):
			dropped.note(file, "", "") // without the key, which may be any text
		case len(variablesIn(s.key)) > 0 || strings.Contains(s.key, "${"):
			dropped.note(file, s.key, "a key there names no variable")
		case !foreign.ProjectNPMKey(s.key):
			dropped.note(file, s.key, "")
		case len(variablesIn(s.value)) == 0:
			delete(p.templates, s.key)
			p.settings[s.key] = strings.TrimSpace(expand(s.value, func(string) string { return "" }))
		default:
			host, ok := templateHost(s.key, s.value)
			if !ok {
				dropped.note(file, s.key, "a variable is only taken in a credential, or in the path of a registry")
				continue
			}
			delete(p.settings, s.key)
			t := template{text: s.value}
			for _, v := range variablesIn(s.value) {
				t.uses = append(t.uses, wire.VariableUse{Variable: v, Host: host, File: file})
			}
			p.templates[s.key] = t
		}
	}
	for _, key := range []string{"cafile", "ca", "https-proxy", "proxy"} {
		if _, ok := p.settings[key]; ok {
			p.trust = key
		}
	}
	return p
}

// isRegistryKey reports whether a key of npm's names a registry.
func isRegistryKey(key string) bool { return key == "registry" || strings.HasSuffix(key, ":registry") }

// isProxyKey reports whether a key of npm's names a proxy.
func isProxyKey(key string) bool { return key == "proxy" || key == "https-proxy" }

// isNoProxy reports whether the value of a proxy says that there is none.
func isNoProxy(value string) bool {
	return slices.Contains([]string{"", "false", "null", "true"}, value)
}

// hosts returns the URLs, by their keys, that npm would ask because the checkout names them. A
// variable in a URL is in its path.
func (p npmProject) hosts() map[string]string {
	all := map[string]string{}
	for key, value := range p.settings {
		switch {
		case isRegistryKey(key):
			all[key] = value
		case isProxyKey(key) && !strings.Contains(value, "://"): // npm reads it as http
			all[key] = "http://" + value
		case isProxyKey(key):
			all[key] = value
		}
	}
	for key, t := range p.templates {
		if isRegistryKey(key) {
			all[key] = t.text
		}
	}
	return all
}

// proxyFunc chooses a proxy for a URL; a nil URL is none.
type proxyFunc = func(*url.URL) (*url.URL, error)

// withConsent returns proxy, which a file of a checkout names, for use only if a person agreed.
func withConsent(a *wire.Agreement, file string, proxy proxyFunc) proxyFunc {
	return func(u *url.URL) (*url.URL, error) {
		at, err := proxy(u)
		if err != nil || at == nil {
			return nil, err
		}
		return at, a.CheckHost(wire.HostUse{Host: wire.HostOf(at), File: file})
	}
}

// templateHost returns the host that a value with variables would be sent to. There is none if
// a variable decides the host, because anyone who resolves the name would learn its value.
func templateHost(key, value string) (string, bool) {
	if host, _, ok := foreign.HostKey(key); ok {
		return strings.TrimSuffix(host, ":443"), true
	}
	if !isRegistryKey(key) {
		return "", false
	}
	scheme, rest, ok := strings.Cut(value, "://")
	if !ok || strings.Contains(scheme, "$") {
		return "", false
	}
	authority, _, _ := strings.Cut(rest, "/")
	u, err := url.Parse(scheme + "://" + authority + "/")
	if err != nil || u.Host == "" || u.User != nil || strings.ContainsAny(authority, "$?#") {
		return "", false
	}
	return wire.HostPort(u), true
}
