package userconfig

import (
	"crypto/x509"
	"fmt"
	"net/url"
	"strings"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/internal/wire"
)

// PyPI says where Python packages come from.
type PyPI struct {
	// Base is the URL below which /pypi/NAME/VERSION/json and /simple/NAME/ are;
	// "" is the public registry.
	Base string

	// Indexes are the roots of simple APIs (PEP 503 and 691), as in pip's index-url. If
	// there are any, Base is not asked. They are asked in order until one has the file;
	// an index that does not answer ends the search.
	Indexes []string

	// Authorization gives the Authorization header for a URL, "" for none. Nil means
	// no credentials.
	Authorization func(*url.URL) (string, error)

	// Authorities reads the authorities for PyPI alone, as that of [NPM] does.
	Authorities func() (*x509.CertPool, error)

	pip func(string) string // the user's settings of pip; may be nil
	uv  map[string]any      // the user's settings of uv, see chosenUV
}

// PyPI reads the configuration of uv and pip.
func (r *Reader) PyPI() (PyPI, error) {
	var p PyPI
	pip, err := readPipSettings(r.Env, r.Home)
	if err != nil {
		return p, err
	}
	list, err := r.uvIndexes()
	if err != nil {
		return p, err
	}
	if len(list.extra) == 0 && list.standard.url == "" {
		list = pipIndexes(pip)
	}
	if pip("trusted-host") != "" {
		r.warn("pip's trusted-host is not honoured; TLS certificates are verified all the same" +
			" (name your authority in PIP_CERT)")
	}
	p.Authorities = authorities("pip", absolutePath(pip("cert"), r.Project, r.Home),
		absolutePath(r.Env("REQUESTS_CA_BUNDLE"), r.Project, r.Home))
	machines, err := readNetrc(r.Env, r.Home)
	if err != nil {
		return p, err
	}
	for host := range machines {
		r.Named.Add("https://"+host, artifact.PyPI, "")
	}
	p.pip, p.uv = pip, readUVSettings(r.Env, r.Home)
	logins := newPyPILogins(machines, r.Agreement)
	for _, ix := range list.inOrder() {
		u, err := url.Parse(ix.url)
		if err != nil || u.Host == "" {
			return p, fmt.Errorf("package index configuration: %s is not a URL", wire.Quoted(withoutUser(ix.url)))
		}
		logins.addIndex(u, ix)
		u.User = nil
		file := ""
		if ix.checkout != "" {
			file = ix.checkout + ", index"
		}
		r.Named.Add(u.String(), artifact.PyPI, file)
		u.RawQuery, u.Fragment, u.RawFragment = "", "", ""
		p.Indexes = append(p.Indexes, u.String())
	}
	p.Authorization = logins.authorization
	return p, nil
}

// withoutUser returns a URL, which need not parse, without what may be a password.
func withoutUser(s string) string {
	if i := strings.LastIndexByte(s, '@'); i >= 0 {
		return "..." + s[i:]
	}
	return s
}
