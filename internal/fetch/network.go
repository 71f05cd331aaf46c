package fetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hallmark-mcp/hallmark/evidence"
)

// userAgent says who asks; some registries refuse a client that does not.
const userAgent = "hallmark (+https://github.com/hallmark-mcp/hallmark)"

// network sends requests under one set of authorities and one proxy.
type network struct {
	transport *http.Transport
	redirects int // most hops per request

	trust func() error // completes transport; called before each request
}

// newNetwork is one whose authorities own gives, or those of config.
func newNetwork(config Config, own func() (*x509.CertPool, error), proxy func(*url.URL) (*url.URL, error), limits Limits) *network {
	t := &http.Transport{
		TLSClientConfig:        &tls.Config{RootCAs: config.RootCAs, MinVersion: tls.VersionTLS12},
		DisableCompression:     true, // else Go asks for gzip and decodes it silently
		MaxResponseHeaderBytes: 64 << 10,
		TLSHandshakeTimeout:    15 * time.Second,
		IdleConnTimeout:        90 * time.Second,
		MaxIdleConnsPerHost:    max(limits.Parallel, 1),
		DialContext:            Dialer(config.AllowAddr),
	}
	if proxy != nil {
		t.Proxy = func(r *http.Request) (*url.URL, error) { return proxy(r.URL) }
	}
	trust := func() error { return nil }
	if own != nil {
		trust = sync.OnceValue(func() error {
			roots, err := own()
			if roots != nil {
				t.TLSClientConfig.RootCAs = roots
			}
			return err
		})
	}
	return &network{transport: t, redirects: max(limits.Redirects, 0), trust: trust}
}

// addressError says that an address may not be connected to.
type addressError struct {
	host string
	err  error
}

func (e *addressError) Error() string {
	return fmt.Sprintf("connection to %s refused: %s", plain(e.host, 255), e.err)
}

func (e *addressError) Unwrap() error { return e.err }

// Dialer returns what an [http.Transport] dials with. It asks allow, as
// [Config].AllowAddr, about each address at the moment of connecting, so that no second
// resolution can put another in its place. Nil allows all.
func Dialer(allow func(string, netip.Addr) error) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		d := net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
		if allow != nil {
			host, _, err := net.SplitHostPort(address)
			if err != nil {
				return nil, err
			}
			d.ControlContext = func(_ context.Context, _, resolved string, _ syscall.RawConn) error {
				to, err := netip.ParseAddrPort(resolved)
				if err == nil {
					err = allow(host, to.Addr())
				}
				if err != nil {
					return &addressError{host, err}
				}
				return nil
			}
		}
		return d.DialContext(ctx, network, address)
	}
}

// request is a GET.
type request struct {
	url    *url.URL
	accept string // media type; "" is any

	// authorization gives the Authorization header for a URL, "" for none. It may
	// be nil. It is not asked after a redirect to another host.
	authorization func(*url.URL) (string, error)

	// head is given each reply whose body is read from its beginning, before that.
	// It may be nil.
	head func(*http.Response)

	most      int64  // bytes that the body may have; 0 is the limit for its kind
	by        naming // who named the host of url
	final429  bool   // 429 is an answer, not a reason to wait
	plainHost string // host and port on this machine that may be asked over plain http

	from    int64  // first byte wanted; with 0 the whole is asked for
	ifRange string // validator that from depends on
}

// check applies our rules to a URL that is about to be requested.
func (r request) check(u *url.URL) error {
	if u.Scheme == "http" && r.plainHost != "" && u.Host == r.plainHost && u.User == nil {
		return nil
	}
	return checkURL(u)
}

// failure is what went wrong in one attempt.
type failure struct {
	cause  evidence.Cause
	status int // HTTP, 0 if there was no reply
	err    error
	hint   string
	retry  bool          // a further attempt may succeed
	after  time.Duration // the pause that the server asks for, 0 if none
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

func refused(format string, args ...any) *failure {
	return &failure{cause: evidence.Unsupported, err: fmt.Errorf(format, args...)}
}

// get sends r and follows redirects. The reply may have any other status; its body
// must be closed. Errors are failures.
func (n *network) get(ctx context.Context, r request) (*http.Response, error) {
	if err := n.trust(); err != nil {
		return nil, refused("%w", err)
	}
	at, seen := r.url, []string{r.url.String()}
	authorization := r.authorization
	for {
		if err := r.check(at); err != nil {
			return nil, refused("%s: %w", show(at), err)
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
		if err != nil {
			return nil, refused("%s cannot be requested", show(at))
		}
		req.Header.Set("User-Agent", userAgent)
		req.Header.Set("Accept-Encoding", "identity")
		if r.accept != "" {
			req.Header.Set("Accept", r.accept)
		}
		if r.from > 0 {
			req.Header.Set("Range", "bytes="+strconv.FormatInt(r.from, 10)+"-")
			req.Header.Set("If-Range", r.ifRange)
		}
		if authorization != nil {
			value, err := authorization(at)
			if refusedUse(err) {
				return nil, err // a person decides; nothing was sent
			}
			if err != nil {
				return nil, refused("%w", err)
			}
			if value != "" {
				req.Header.Set("Authorization", value)
			}
		}
		resp, err := n.transport.RoundTrip(req)
		if refusedUse(err) {
			return nil, err // a proxy that nobody agreed to
		}
		if err != nil {
			return nil, connectionFailure(err)
		}
		if !redirect(resp.StatusCode) {
			return resp, nil
		}
		io.CopyN(io.Discard, resp.Body, 4<<10) // so that the connection can be reused
		resp.Body.Close()
		next, err := r.location(at, resp)
		if err != nil {
			return nil, err
		}
		key := next.String()
		if i := slices.Index(seen, key); i >= 0 {
			return nil, refused("redirect loop: %s", loop(seen[i:]))
		}
		if len(seen) > n.redirects {
			return nil, refused("more than %d redirects, the last to %s", n.redirects, show(next))
		}
		seen = append(seen, key)
		if !sameHost(at, next) {
			authorization = nil
		}
		at = next
	}
}

func redirect(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// location is where a redirect leads.
func (r request) location(at *url.URL, resp *http.Response) (*url.URL, error) {
	header := resp.Header.Get("Location")
	if header == "" {
		return nil, &failure{cause: evidence.Unreachable, status: resp.StatusCode,
			err: fmt.Errorf("answered %d without a Location", resp.StatusCode)}
	}
	next, err := at.Parse(header)
	if err != nil {
		return nil, refused("redirect to something that is no URL")
	}
	next.Fragment, next.RawFragment = "", ""
	if err := r.check(next); err != nil {
		return nil, refused("redirect to %s: %w", show(next), err)
	}
	return next, nil
}

var errPlainHTTP = errors.New("plain http is refused, only https is fetched")

// checkURL applies our rules to a URL.
func checkURL(u *url.URL) error {
	switch {
	case u.Scheme == "http":
		return errPlainHTTP
	case u.Scheme != "https":
		return fmt.Errorf("scheme %s is refused, only https is fetched", quoted(u.Scheme))
	case u.Hostname() == "":
		return errors.New("the URL has no host")
	case u.User != nil:
		return errors.New("a URL with user name or password is refused")
	}
	return nil
}

func sameHost(a, b *url.URL) bool { return hostPort(a) == hostPort(b) }

// hostPort is the host in lower case, with the port unless that is 443.
func hostPort(u *url.URL) string {
	return strings.TrimSuffix(strings.ToLower(u.Host), ":443")
}

// loop prints the members of a redirect loop.
func loop(members []string) string {
	var names []string
	for _, m := range append(members, members[0]) {
		if u, err := url.Parse(m); err == nil {
			names = append(names, show(u))
		}
	}
	return strings.Join(names, " -> ")
}

// connectionFailure sorts out what cannot be mended by trying again.
func connectionFailure(err error) *failure {
	f := &failure{cause: evidence.Unreachable, err: err, retry: true}
	var (
		address     *addressError
		certificate *tls.CertificateVerificationError
		record      tls.RecordHeaderError
		dns         *net.DNSError
		operation   *net.OpError
	)
	// Where this machine is, and whom it asks for names, is not for a publisher.
	switch {
	case errors.As(err, &dns):
		clean := *dns
		clean.Server = ""
		f.err = &clean
	case errors.As(err, &operation):
		clean := *operation
		clean.Source = nil
		f.err = &clean
	}
	switch {
	case errors.As(err, &address):
		f.cause, f.err, f.retry = evidence.Unsupported, address, false
	case errors.As(err, &certificate):
		f.retry = false
		f.hint = "if this network has a certificate authority of its own, name it in SSL_CERT_FILE (or for npm in cafile, for PyPI in PIP_CERT)"
	case errors.As(err, &record):
		f.err, f.retry = errors.New("the host does not speak TLS on this port"), false
	case errors.As(err, &dns) && dns.IsNotFound:
		f.retry = false
	}
	return f
}
