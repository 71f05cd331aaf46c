package userconfig

import (
	"cmp"
	"net/url"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/wire"
)

// pypiLogins are the credentials for package indexes.
type pypiLogins struct {
	machines  map[string]login              // of a netrc, by the host
	indexes   map[string]login              // of the indexes, by the host with its port
	waiting   map[string][]wire.VariableUse // what a person has to agree to first, by the same
	hosts     map[string]bool               // of all indexes, with their ports
	agreement *wire.Agreement
}

// newPyPILogins returns the credentials of a netrc, to which those of the indexes are added.
func newPyPILogins(machines map[string]login, agreement *wire.Agreement) *pypiLogins {
	return &pypiLogins{machines: machines, indexes: make(map[string]login),
		waiting: make(map[string][]wire.VariableUse), hosts: make(map[string]bool), agreement: agreement}
}

// addIndex adds an index, whose URL u may hold credentials too. Those of the first index of a
// host count.
func (p *pypiLogins) addIndex(u *url.URL, ix pypiIndex) {
	l := login{ix.user, ix.password}
	if u.User != nil {
		l.user = cmp.Or(l.user, u.User.Username())
		if password, ok := u.User.Password(); ok {
			l.password = cmp.Or(l.password, password)
		}
	}
	host := wire.HostPort(u)
	p.hosts[host] = true
	if _, seen := p.indexes[host]; l != (login{}) && !seen {
		p.indexes[host], p.waiting[host] = l, ix.uses
	}
}

// authorization returns the Authorization header for a URL, "" for none. It is an error if nobody
// agreed to a variable that the credentials are in.
func (p *pypiLogins) authorization(u *url.URL) (string, error) {
	host := wire.HostPort(u)
	for _, use := range p.waiting[host] {
		if err := p.agreement.CheckVariable(use); err != nil {
			return "", err
		}
	}
	l, ok := p.indexes[host]
	// A netrc has no ports: its machine is the host at the usual port, and at the port of an
	// index.
	if !ok && (u.Port() == "" || u.Port() == "443" || p.hosts[host]) {
		l, ok = p.machines[strings.ToLower(u.Hostname())]
	}
	if !ok {
		return "", nil
	}
	return Basic(l.user, l.password), nil
}
