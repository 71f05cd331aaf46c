// Package fetch turns a Ref into bytes on this machine: streamed to a temporary
// file, hashed on the way, bounded in size, time, redirects and retries.
//
// It reads npm, PyPI, GitHub releases, NuGet, crates, image registries and plain
// https; a git or file Ref is not fetched here.
//
// It does not judge. A [Download] holds what was observed and what the package's
// own registry claims; package evidence compares the two.
//
// # Rules of a transfer
//
//   - https only, for base URLs, files and every redirect; certificates are always
//     verified and nothing can turn that off. The one exception is an image registry
//     on this machine's loopback, if [OCIConfig] allows it.
//   - Requests ask for Accept-Encoding: identity. A reply with another
//     Content-Encoding is refused, since its bytes are not the artifact's.
//   - A reply whose end is not marked (neither Content-Length nor chunks) is
//     refused: cut off, it would look whole. Bytes beyond Content-Length are not
//     part of an HTTP/1.1 reply and are not read.
//   - 5xx, 429, resets, stalls and bodies that end early are tried again after a
//     growing, jittered pause (Retry-After is honoured up to a cap). Other 4xx
//     are final.
//   - A retry goes on from where the last one ended if the server gave a strong
//     ETag, or a Last-Modified old enough to be one: Range with If-Range, and the
//     206's Content-Range, total and validator must fit. In every other case the
//     file and the hash begin again at zero, so that two versions of a file are
//     never mixed.
//   - Credentials go to the host and path prefix that they were configured for.
//     After a redirect to another host none are sent any more. A server has those
//     of [HostCredential] alone, and only for the namespaces mapped to them.
//   - Nothing is left on disk after an error.
//
// # Errors
//
// Where the outside is at fault the error is an [*Error] with a cause of package
// evidence. A cancelled context gives an error that wraps the context's. What goes
// wrong on this machine, such as a full disk, is any other error.
package fetch

import (
	"cmp"
	"context"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net/netip"
	"net/url"
	"os"
	"sync/atomic"
	"time"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
)

// Limits bound what one fetch may cost. A field that is zero has the value of
// [DefaultLimits]; a negative Redirects or Retries means none.
type Limits struct {
	FileSize     int64         // bytes of an artifact
	DocumentSize int64         // bytes of a registry's document
	FileTime     time.Duration // for an artifact, all its requests, retries and pauses
	Stall        time.Duration // longest silence before an attempt is given up
	Redirects    int           // per request
	Retries      int           // attempts after the first, per file or document
	Backoff      time.Duration // pause before the first retry; doubles each time
	BackoffMax   time.Duration // longest pause, also if Retry-After asks for more
	Parallel     int           // fetches at once in one Client

	// Of one document, as who fetches for it counts.
	DocumentFiles  int // in all
	DocumentAtOnce int // at the same time

	// Together bounds all that one client of [Client.For] fetches, in bytes: files,
	// documents, and what had to be fetched again. What does not fit is too large.
	Together int64 // 0: no limit

	// Held bounds the files of a Client that are on this machine at once, in bytes. A
	// file for which there is no room is tried again later, as one that a host does
	// not give.
	Held int64 // 0: no limit
}

// DefaultLimits are the limits of a client that sets none.
func DefaultLimits() Limits {
	return Limits{
		FileSize:     1 << 30,
		DocumentSize: 8 << 20,
		FileTime:     10 * time.Minute,
		Stall:        time.Minute,
		Redirects:    5,
		Retries:      4,
		Backoff:      500 * time.Millisecond,
		BackoffMax:   30 * time.Second,
		Parallel:     4,

		DocumentFiles:  64,
		DocumentAtOnce: 4,
	}
}

// orDefault replaces what is unset.
func (l Limits) orDefault() Limits {
	d := DefaultLimits()
	return Limits{
		FileSize:     cmp.Or(l.FileSize, d.FileSize),
		DocumentSize: cmp.Or(l.DocumentSize, d.DocumentSize),
		FileTime:     cmp.Or(l.FileTime, d.FileTime),
		Stall:        cmp.Or(l.Stall, d.Stall),
		Redirects:    cmp.Or(l.Redirects, d.Redirects),
		Retries:      cmp.Or(l.Retries, d.Retries),
		Backoff:      cmp.Or(l.Backoff, d.Backoff),
		BackoffMax:   cmp.Or(l.BackoffMax, d.BackoffMax),
		Parallel:     cmp.Or(l.Parallel, d.Parallel),

		DocumentFiles:  cmp.Or(l.DocumentFiles, d.DocumentFiles),
		DocumentAtOnce: cmp.Or(l.DocumentAtOnce, d.DocumentAtOnce),

		Together: l.Together,
		Held:     l.Held,
	}
}

// Config says how a [Client] reaches the outside. Its zero value fetches from the
// public registries without credentials, proxy or restriction of addresses.
type Config struct {
	Limits  Limits
	Dir     string         // where downloads are staged; "" is os.TempDir()
	NPM     NPMConfig      //
	PyPI    PyPIConfig     //
	GitHub  GitHubConfig   //
	NuGet   NuGetConfig    //
	Cargo   CargoConfig    //
	OCI     OCIConfig      //
	RootCAs *x509.CertPool // nil: the system's

	// Credentials are an operator's; they are used by clients of [Client.For], until
	// [Client.SetCredentials] says otherwise.
	Credentials []HostCredential

	// Proxy chooses a proxy for a request; nil, or a nil URL, means none.
	Proxy func(*url.URL) (*url.URL, error)

	// AllowAddr is asked about every address that is about to be connected to,
	// after resolution, for each connection, also of redirects; an error refuses
	// it. With a proxy it sees the proxy's address, so a server has none. Nil
	// allows all.
	AllowAddr func(host string, addr netip.Addr) error

	// Progress is told the bytes received so far and in all (-1: unknown), from
	// the goroutine that fetches. It may be told less than before, when a
	// transfer begins anew. May be nil.
	Progress func(ref artifact.Ref, done, total int64)

	// Agreement asks for consent to send variables and to ask hosts that a checkout's files
	// name. Nil refuses them. UserConfig sets it; who asks is set there.
	Agreement *Agreement

	// AnyHost lets every host be asked without consent: for a server, which is told by
	// strangers what to fetch, and restricts addresses.
	AnyHost bool

	Logger   *slog.Logger // nil: silent
	Warnings []string     // what UserConfig read and does not honour; New logs them

	// create makes the staging file; nil is os.CreateTemp. For tests.
	create func(dir string) (stagingFile, error)

	ignored *ignored // what a checkout's files say and is not taken; may be nil

	theirs map[string]HostUse // hosts that the checkout's configuration names
	named  []string           // URLs that the user's configuration names
}

// ServerConfig is the configuration of a server: no ambient credentials, no
// user's configuration, no proxy, no private addresses.
func ServerConfig() Config {
	return Config{AllowAddr: RefusePrivate(), AnyHost: true}
}

// Client fetches artifacts. It is safe for concurrent use.
type Client struct {
	config Config
	limits Limits
	log    *slog.Logger
	slots  chan struct{} // one for each fetch under way
	held   *budget       // of files on this machine
	plain  *network      // for everything but npm and PyPI
	npm    *network      // npm has its own authorities and proxy
	pypi   *network      // PyPI has its own authorities
	hosts  hosts         // which may be asked

	operator    *atomic.Pointer[[]HostCredential]
	credentials []HostCredential // of this view, as they were when it was made
	namespace   string           // that they are for, "" for none
	together    *budget          // of all that this view fetches
}

// Limits are those that c works by, with defaults for what was not set.
func (c *Client) Limits() Limits { return c.limits }

// NPMSetting is the value of a key of the user's npm configuration, "" if unset.
func (c *Client) NPMSetting(key string) string { return c.config.NPM.Setting(key) }

// New returns a client. The configuration must not change afterwards.
func New(config Config) *Client {
	c := &Client{config: config, limits: config.Limits.orDefault(), log: config.Logger, operator: new(atomic.Pointer[[]HostCredential])}
	c.SetCredentials(config.Credentials)
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	for _, w := range config.Warnings {
		c.log.Warn(w)
	}
	if c.config.create == nil {
		c.config.create = createTemp
	}
	if c.config.NPM.Setting == nil {
		c.config.NPM.Setting = func(string) string { return "" }
	}
	c.hosts = hostsOf(config)
	c.slots = make(chan struct{}, max(c.limits.Parallel, 1))
	c.held = newBudget(c.limits.Held)
	c.plain = newNetwork(config, nil, config.Proxy, c.limits)
	c.npm = c.plain
	if config.NPM.Authorities != nil || config.NPM.Proxy != nil {
		proxy := config.Proxy
		if config.NPM.Proxy != nil {
			proxy = config.NPM.Proxy
		}
		c.npm = newNetwork(config, config.NPM.Authorities, proxy, c.limits)
	}
	c.pypi = c.plain
	if config.PyPI.Authorities != nil {
		c.pypi = newNetwork(config, config.PyPI.Authorities, config.Proxy, c.limits)
	}
	return c
}

// CloseIdleConnections closes connections that are kept for reuse.
func (c *Client) CloseIdleConnections() {
	c.plain.transport.CloseIdleConnections()
	c.npm.transport.CloseIdleConnections()
	c.pypi.transport.CloseIdleConnections()
}

// Fetch downloads ref and computes sha256, the digests under algs, and those that
// the registry's own claim needs, in one pass. The caller closes the Download,
// which removes its file.
func (c *Client) Fetch(ctx context.Context, ref artifact.Ref, algs ...digest.Algorithm) (*Download, error) {
	for _, a := range algs {
		if a.Size() == 0 {
			return nil, fmt.Errorf("%s: %w", name(ref.String()), &digest.UnknownAlgorithmError{Algorithm: string(a)})
		}
	}
	ctx, release, err := c.begin(ctx, ref)
	if err != nil {
		return nil, err
	}
	defer release()
	algs = append([]digest.Algorithm{digest.SHA256}, algs...)
	switch ref.Kind() {
	case artifact.NPM:
		return c.fetchNPM(ctx, ref, algs)
	case artifact.PyPI:
		return c.fetchPyPI(ctx, ref, algs)
	case artifact.GitHub:
		return c.fetchGitHub(ctx, ref, algs)
	case artifact.NuGet:
		return c.fetchNuGet(ctx, ref, algs)
	case artifact.Cargo:
		return c.fetchCargo(ctx, ref, algs)
	case artifact.OCI:
		return c.fetchOCI(ctx, ref, ociReference(ref), algs)
	case artifact.HTTPS:
		return c.fetchHTTPS(ctx, ref, algs)
	}
	return nil, unsupportedKind(ref)
}

// begin waits for a slot and starts the clock.
func (c *Client) begin(ctx context.Context, ref artifact.Ref) (context.Context, context.CancelFunc, error) {
	select {
	case c.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, interrupted(ctx, ref)
	}
	if ctx.Err() != nil { // select chooses at random
		<-c.slots
		return nil, nil, interrupted(ctx, ref)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.limits.FileTime, errTimeUp)
	return ctx, func() { cancel(); <-c.slots }, nil
}

// Download is an artifact on this machine. Its file is removed by Close.
type Download struct {
	Ref      artifact.Ref
	Observed evidence.Observed // From is the URL asked for, without query

	// Claims are what the package's own registry says of the file; they are
	// empty if it says nothing that could be compared.
	Claims []evidence.Claim

	// Unverifiable holds the registry's claims that could not be read: malformed,
	// or under an unknown algorithm.
	Unverifiable evidence.Report

	// Yanked is why the publisher has withdrawn the version, "" if that was not
	// done. The text is the publisher's.
	Yanked string

	// Notes are what a person should know of how the file was got.
	Notes []string

	// NPM is the version's document for an npm: Ref, else nil.
	NPM *NPMVersion

	path string
	free func() // gives back the room that the file took
}

// Path is the file's place. It has mode 0600.
func (d *Download) Path() string { return d.path }

// Open opens the file for reading.
func (d *Download) Open() (*os.File, error) { return os.Open(d.path) }

// Close removes the file. Further calls do nothing.
func (d *Download) Close() error {
	if d.free != nil {
		d.free()
		d.free = nil
	}
	if err := os.Remove(d.path); err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("%s: remove download: %w", name(d.Ref.String()), err)
	}
	return nil
}
