package fetch

import (
	"net/url"

	"github.com/hallmark-mcp/hallmark/internal/fetch/userconfig"
	"github.com/hallmark-mcp/hallmark/internal/wire"
)

// HostCredential is what an operator lets a server send to one host on behalf of some
// namespaces: those that may read what is there. A publish tells its publisher whether a
// digest is right, so that a namespace which may not read a host must not make the server
// read it.
type HostCredential struct {
	Host       string   // host, or host:port if the port is not 443
	Username   string   // with Password: basic authentication
	Password   string   //
	Token      string   // bearer token, if there is no user name
	Namespaces []string // such as "com.example", each exactly; empty means none
}

// hostPort returns the host in the form of [wire.HostPort].
func (k HostCredential) hostPort() string { return wire.HostPort(&url.URL{Host: k.Host}) }

// header returns the value of the Authorization header.
func (k HostCredential) header() (string, error) {
	if k.Username != "" || k.Password != "" {
		return userconfig.Basic(k.Username, k.Password), nil
	}
	return userconfig.Bearer(k.Token, "the credential for "+wire.Plain(k.Host, 255))
}
