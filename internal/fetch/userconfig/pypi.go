package userconfig

import (
	"cmp"
	"crypto/x509"
	"fmt"
	"net/url"
	"strings"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/internal/consent"
	"github.com/hallmark-mcp/hallmark/internal/wire"
)

// PyPI says where Python packages come from.
type PyPI struct {
	// Base is the URL below which /pypi/NAME/VERSION/json and /simple/NAME/ are;
	// "" is the public registry.
	Base string

	// Indexes are the roots of simple APIs (PEP 503 and 691), as pip's index-url. If
	// there are any, Base is not asked. They are asked in order until one has the
	// file; one that does not answer ends the search.
	Indexes []string

	// Authorization gives the Authorization header for a URL, "" for none. Nil means
	// no credentials.
	Authorization func(*url.URL) (string, error)

	// Authorities gives those for PyPI alone, as that of [NPM] does.
	Authorities func() (*x509.CertPool, error)

	pip func(string) string // pip's settings of the user; nil: none
	uv  map[string]any      // uv's of the user, see chosenUV
}

// PyPI reads the configuration of uv and pip.
func (r *Reader) PyPI() (PyPI, error) {
	env, projectDir, home := r.Env, r.Project, r.Home
	var p PyPI
	pip, err := pipSettings(env, home)
	if err != nil {
		return p, err
	}
	list, err := r.uvIndexes()
	if err != nil {
		return p, err
	}
	if len(list.extra) == 0 && list.standard.url == "" {
		list = indexList{standard: pypiIndex{url: pip("index-url")}}
		for _, u := range strings.Fields(pip("extra-index-url")) {
			list.extra = append(list.extra, pypiIndex{url: u})
		}
	}
	if pip("trusted-host") != "" {
		r.warn("pip's trusted-host is not honoured; TLS certificates are verified all the same" +
			" (name your authority in PIP_CERT)")
	}
	p.Authorities = authorities("pip", resolve(pip("cert"), projectDir, home), resolve(env("REQUESTS_CA_BUNDLE"),
		projectDir, home))
	logins, err := netrcLogins(env, home)
	if err != nil {
		return p, err
	}
	for host := range logins {
		r.Named.Add("https://"+host, artifact.PyPI, "")
	}
	p.pip, p.uv = pip, uvSettings(env, home)
	credentials := make(map[string]login)             // by the host, with its port
	waiting := make(map[string][]consent.VariableUse) // that somebody has to agree to first, likewise
	agreement := r.Agreement
	hosts := make(map[string]bool) // of the indexes
	indexes := list.extra
	if len(indexes) > 0 || list.standard.url != "" {
		// A default is always asked, last.
		last := list.standard
		last.url = cmp.Or(last.url, defaultIndex)
		indexes = append(indexes, last)
	}
	for _, ix := range indexes {
		u, err := url.Parse(ix.url)
		if err != nil || u.Host == "" {
			return p, fmt.Errorf("package index configuration: %s is not a URL", wire.Quoted(withoutUser(ix.url)))
		}
		l := login{ix.user, ix.password}
		if u.User != nil {
			l.user = cmp.Or(l.user, u.User.Username())
			if p, ok := u.User.Password(); ok {
				l.password = cmp.Or(l.password, p)
			}
			u.User = nil
		}
		hosts[wire.HostPort(u)] = true
		file := ""
		if ix.checkout != "" {
			file = ix.checkout + ", index"
		}
		r.Named.Add(u.String(), artifact.PyPI, file)
		if _, seen := credentials[wire.HostPort(u)]; l != (login{}) && !seen {
			credentials[wire.HostPort(u)], waiting[wire.HostPort(u)] = l, ix.uses
		}
		u.RawQuery, u.Fragment, u.RawFragment = "", "", ""
		p.Indexes = append(p.Indexes, u.String())
	}
	p.Authorization = func(u *url.URL) (string, error) {
		l, ok := credentials[wire.HostPort(u)]
		for _, use := range waiting[wire.HostPort(u)] {
			if err := agreement.CheckVariable(use); err != nil {
				return "", err
			}
		}
		// A netrc has no ports: its machine is the host at its usual port, and that
		// of an index.
		if !ok && (u.Port() == "" || u.Port() == "443" || hosts[wire.HostPort(u)]) {
			l, ok = logins[strings.ToLower(u.Hostname())]
		}
		if !ok {
			return "", nil
		}
		return Basic(l.user, l.password), nil
	}
	return p, nil
}

// withoutUser is a URL that may not parse, without what may be a password.
func withoutUser(s string) string {
	if i := strings.LastIndexByte(s, '@'); i >= 0 {
		return "..." + s[i:]
	}
	return s
}
