package transfer

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/wire"
)

// Request is a GET.
type Request struct {
	URL    *url.URL
	Accept string // media type; "" is any

	// Authorization returns the Authorization header for a URL, "" for none. It is not called
	// after a redirect to another host. It may be nil.
	Authorization func(*url.URL) (string, error)

	// Head is called with each reply whose body is read from its beginning, before the body
	// is read. It may be nil.
	Head func(*http.Response)

	// Known is the version that is here already. If it still is the newest the reply is a [Failure] with status 304.
	Known Version

	Most      int64       // bytes that the body may have
	By        wire.Naming // what named the host of URL
	Final429  bool        // 429 is an answer, not a reason to wait
	PlainHost string      // host and port on this machine that may be asked over plain http

	// Base is the URL of the registry that the configuration names, which led to URL. If that is
	// plain http on this machine, then URL and what it redirects to may be so too. It may be nil.
	Base *url.URL

	from    int64  // first byte that is requested; 0 requests the whole body
	ifRange string // validator of the version that from is of
}

// Version tells the versions of a body apart, as its host does. The zero value is none.
type Version struct {
	Tag      string // ETag
	Modified string // Last-Modified
}

// VersionOf returns the version that a reply is of.
func VersionOf(h http.Header) Version { return Version{h.Get("ETag"), h.Get("Last-Modified")} }

// setHeaders asks for the body only if it is of another version.
func (v Version) setHeaders(h http.Header) {
	switch {
	case v.Tag != "":
		h.Set("If-None-Match", v.Tag)
	case v.Modified != "":
		h.Set("If-Modified-Since", v.Modified)
	}
}

// checkURL applies the rules of a transfer to a URL that is about to be requested.
func (r Request) checkURL(u *url.URL) error {
	if r.Base != nil && CheckURLFrom(u, r.Base) == nil {
		return nil
	}
	return CheckURLPlain(u, r.PlainHost)
}

// location returns where a redirect leads.
func (r Request) location(at *url.URL, resp *http.Response) (*url.URL, error) {
	header := resp.Header.Get("Location")
	if header == "" {
		return nil, &Failure{Cause: evidence.Unreachable, Status: resp.StatusCode,
			Err: fmt.Errorf("answered %d without a Location", resp.StatusCode)}
	}
	next, err := at.Parse(header)
	if err != nil {
		return nil, NewRefusal("redirect to something that is no URL")
	}
	next.Fragment, next.RawFragment = "", ""
	if err := r.checkURL(next); err != nil {
		return nil, NewRefusal("redirect to %s: %w", wire.ShowURL(next), err)
	}
	return next, nil
}

var errPlainHTTP = errors.New("plain http is refused, only https is fetched")

// CheckURL applies the rules of a transfer to a URL.
func CheckURL(u *url.URL) error {
	switch {
	case u.Scheme == "http":
		return errPlainHTTP
	case u.Scheme != "https":
		return fmt.Errorf("scheme %s is refused, only https is fetched", wire.Quoted(u.Scheme))
	case u.Hostname() == "":
		return errors.New("the URL has no host")
	case u.User != nil:
		return errors.New("a URL with user name or password is refused")
	}
	return nil
}

// CheckURLFrom is CheckURL for a URL to which the registry at base leads, which may be base itself.
// If the configuration has base as plain http on this machine, plain http to it is allowed.
func CheckURLFrom(u, base *url.URL) error {
	if isPlainLoopback(base) && isPlainLoopback(u) {
		return nil
	}
	return CheckURL(u)
}

// isPlainLoopback reports whether u is plain http to this machine.
func isPlainLoopback(u *url.URL) bool {
	return u.Scheme == "http" && u.User == nil && isLoopback(u.Hostname())
}

// isLoopback reports whether a host names this machine: localhost, a name below it, or an address of
// loopback. [Dialer] holds the names to that.
func isLoopback(host string) bool {
	host = normalHost(host)
	return artifact.IsLoopback(host) || strings.HasSuffix(host, ".localhost")
}

// CheckURLPlain is CheckURL that allows plain http to one host and port; "" is none.
func CheckURLPlain(u *url.URL, plainHost string) error {
	if u.Scheme == "http" && plainHost != "" && u.Host == plainHost && u.User == nil {
		return nil
	}
	return CheckURL(u)
}
