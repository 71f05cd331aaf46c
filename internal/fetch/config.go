package fetch

import (
	"context"
	"crypto/x509"
	"log/slog"
	"net"
	"net/netip"
	"net/url"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/internal/fetch/transfer"
	"github.com/hallmark-mcp/hallmark/internal/fetch/userconfig"
	"github.com/hallmark-mcp/hallmark/internal/wire"
)

// Config says how a [Client] reaches the outside. Its zero value fetches from the
// public registries without credentials, proxy or restriction of addresses.
type Config struct {
	Limits  Limits
	Dir     string         // where downloads are staged; "" is os.TempDir()
	RootCAs *x509.CertPool // nil: the system's

	// Of single ecosystems.
	NPM    userconfig.NPM
	PyPI   userconfig.PyPI
	GitHub userconfig.GitHub
	NuGet  NuGetConfig
	Cargo  userconfig.Cargo
	OCI    OCIConfig

	// Credentials are an operator's. Clients of [Client.For] use them, until
	// [Client.SetCredentials] replaces them.
	Credentials []HostCredential

	// Proxy chooses a proxy for a request; nil, or a nil URL, means none.
	Proxy func(*url.URL) (*url.URL, error)

	// AllowAddr is asked about every address that is about to be connected to,
	// after resolution, for each connection, also of redirects; an error refuses
	// it. With a proxy it sees the proxy's address, so a server has none. Nil
	// allows all.
	AllowAddr func(host string, addr netip.Addr) error

	// Patience bounds how long a command waits for silent hosts; nil: as long as Limits say.
	Patience *transfer.Patience

	// Progress is told the bytes received so far and in all (-1: unknown), from
	// the goroutine that fetches. It may be told less than before, when a
	// transfer begins anew. May be nil.
	Progress func(ref artifact.Ref, done, total int64)

	// Agreement asks for consent to send variables and to ask hosts that a checkout's files
	// name. Nil refuses them. UserConfig sets it; who asks is set there.
	Agreement *wire.Agreement

	// AnyHost lets every host be asked without consent. It is for a server, which strangers
	// tell what to fetch, and which restricts addresses instead.
	AnyHost bool

	Logger *slog.Logger // nil: silent

	// create makes the staging file; nil is os.CreateTemp. For tests.
	create func(dir string) (stagingFile, error)

	dial func(ctx context.Context, network, address string) (net.Conn, error) // see transfer.Route; for tests

	user *userconfig.Reader // of the files that the configuration is completed from: see [tool]; nil for none

	// What those files say besides.
	ignored  *userconfig.IgnoredSettings // settings of a checkout's files that are not taken; may be nil
	named    wire.Named                  // hosts that the files of the user and of the checkout name
	warnings []string                    // settings that are not honoured
}

// ServerConfig returns the configuration of a server: without the credentials and the
// configuration of a user, without proxy, and without private addresses.
func ServerConfig() Config {
	return Config{AllowAddr: transfer.RefusePrivate(), AnyHost: true}
}

// NuGetConfig says where NuGet packages come from.
type NuGetConfig struct {
	Index string // URL of a service index (V3), "" is the public one
}

// OCIConfig says how image registries are reached. Their hosts are in the Refs.
type OCIConfig struct {
	// Keychain gives credentials for a repository; nil means anonymous.
	Keychain authn.Keychain

	// PlainHTTP allows plain http to registries on this machine's loopback, after https was tried,
	// for those that are developed or tested here.
	PlainHTTP bool
}
