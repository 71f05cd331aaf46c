package userconfig

import (
	"net/url"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/consent"
	"github.com/hallmark-mcp/hallmark/internal/foreign"
	"github.com/hallmark-mcp/hallmark/internal/wire"
)

// npmProject is what is taken of the .npmrc of a checkout.
type npmProject struct {
	settings  map[string]string   // that name no variable
	templates map[string]template // that name variables: registries, and credentials for a host
	trust     string              // a key by which it changes who is trusted on the way: a proxy, an authority
}

// readNPMProject takes the named keys of a checkout's .npmrc, and notes all others.
func readNPMProject(text string, dropped *Ignored) npmProject {
	const file = ".npmrc"
	p := npmProject{settings: map[string]string{}, templates: map[string]template{}}
	for _, s := range npmSettings(text) {
		switch {
		case s.bare && !foreign.ProjectNPMKey(s.key):
			dropped.note(file, "", "") // which may be any text
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
				dropped.note(file, s.key, "a variable there may stand in a credential, and in the path of a registry")
				continue
			}
			delete(p.settings, s.key)
			t := template{text: s.value}
			for _, v := range variablesIn(s.value) {
				t.uses = append(t.uses, consent.VariableUse{Variable: v, Host: host, File: file})
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

// registryKey reports whether a key of npm's names a registry.
func registryKey(key string) bool { return key == "registry" || strings.HasSuffix(key, ":registry") }

func proxyKey(key string) bool { return key == "proxy" || key == "https-proxy" }

// off reports whether the value of a proxy says that there is none.
func off(value string) bool { return slices.Contains([]string{"", "false", "null", "true"}, value) }

// hosts are the URLs, by their keys, of what npm would ask because a checkout says so. A
// variable in one stands in its path.
func (p npmProject) hosts() map[string]string {
	all := map[string]string{}
	for key, value := range p.settings {
		switch {
		case registryKey(key):
			all[key] = value
		case proxyKey(key) && !strings.Contains(value, "://"): // as it is read
			all[key] = "http://" + value
		case proxyKey(key):
			all[key] = value
		}
	}
	for key, t := range p.templates {
		if registryKey(key) {
			all[key] = t.text
		}
	}
	return all
}

// asking is a proxy that a file of a checkout names: it is used if somebody agreed.
func asking(a *consent.Agreement, file string, proxy func(*url.URL) (*url.URL, error)) func(*url.URL) (*url.URL,
	error) {
	return func(u *url.URL) (*url.URL, error) {
		at, err := proxy(u)
		if err != nil || at == nil {
			return nil, err
		}
		return at, a.CheckHost(consent.HostUse{Host: wire.HostOf(at), File: file})
	}
}

// templateHost is the host that a value with variables would be sent to. There is none for
// a variable that decides the host: it would be told to whoever resolves the name.
func templateHost(key, value string) (string, bool) {
	if host, _, ok := foreign.HostKey(key); ok {
		return strings.TrimSuffix(host, ":443"), true
	}
	if !registryKey(key) {
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
