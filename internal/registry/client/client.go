// Package client calls a registry, this program's or the official one, and checks that what it
// answers is what was asked for.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/surface"
)

// Limits of what a [Client] reads.
const (
	MaxAnswer       = 8 << 20  // bytes of an answer
	MaxVersionBytes = 64 << 20 // bytes of all pages of one name's versions
)

// maxRedirects is how many redirects a client follows; all stay on the host.
const maxRedirects = 5

// Client talks to one registry, this program's or the official one. Its methods
// return a [*registry.Problem] if the registry answers with an error.
//
// Base is the registry's URL without the version of the API, "https://example.com".
// Plain http is for loopback hosts only, as over it a token and what a record says
// could be read and changed. A client is safe for concurrent use.
//
// A call takes 60 seconds at most, a publish 20 minutes, as the registry fetches the
// packages before it answers; of the context and these, the earlier end counts.
type Client struct {
	Base string
	HTTP *http.Client // nil is one of this package's; its redirect policy is not used

	// May is asked before each request; an error ends the call, and nothing is sent. Nil
	// lets all be sent.
	May func() error

	// Through sends all calls but a publish, with a limit of its own on how long a registry may be silent; it is
	// given what would send them. It may be nil.
	Through func(http.RoundTripper) http.RoundTripper

	timeout time.Duration // of a call; 0 is the above; less in tests
}

// Publish sends raw, a server.json, and returns its record. The token may be empty. A
// record whose document is not the one that was sent is an error of class
// [evidence.Integrity]; the registry has published it all the same.
func (c *Client) Publish(ctx context.Context, raw []byte, token string) (*registry.Envelope, error) {
	want, err := registry.DigestOf(raw)
	if err != nil {
		return nil, evidence.Errorf(evidence.Validation, "server.json", "", err)
	}
	env, err := answerAs[registry.Envelope](ctx, c,
		request{method: http.MethodPost, path: publishPath, body: raw, token: token})
	if err != nil {
		return nil, err
	}
	name, version, err := registry.ReadName(raw)
	if err != nil {
		return nil, err
	}
	if err := c.expect(*env, name, version); err != nil {
		return nil, err
	}
	if err := c.checkStored(ctx, raw, want, *env); err != nil {
		return nil, err
	}
	return env, nil
}

// Validate asks whether the registry would take raw for a valid document.
func (c *Client) Validate(ctx context.Context, raw []byte) (*registry.Validity, error) {
	return answerAs[registry.Validity](ctx, c, request{method: http.MethodPost, path: "/validate", body: raw})
}

// Get returns one record, unless its status is deleted. Version may be [registry.Latest].
func (c *Client) Get(ctx context.Context, name, version string) (*registry.Envelope, error) {
	return c.get(ctx, name, version, nil)
}

// GetDeleted is Get for records of any status.
func (c *Client) GetDeleted(ctx context.Context, name, version string) (*registry.Envelope, error) {
	return c.get(ctx, name, version, withDeleted())
}

// withDeleted is the query for records of any status.
func withDeleted() url.Values { return url.Values{"include_deleted": {"true"}} }

func (c *Client) get(ctx context.Context, name, version string, query url.Values) (*registry.Envelope, error) {
	path, err := escapePath("servers", name, "versions", version)
	if err != nil {
		return nil, err
	}
	env, err := answerAs[registry.Envelope](ctx, c, request{method: http.MethodGet, path: path, query: query})
	if err != nil {
		return nil, err
	}
	if version == registry.Latest {
		version = ""
	}
	return env, c.expect(*env, name, version)
}

// RecordURL is where the record of a version is.
func (c *Client) RecordURL(name, version string) (string, error) {
	path, err := escapePath("servers", name, "versions", version)
	if err != nil {
		return "", err
	}
	u, err := c.endpoint(stable+path, nil)
	if err != nil {
		return "", evidence.Errorf(evidence.Validation, "", "", err)
	}
	return u.String(), nil
}

// Versions returns all records of one name but those with the status deleted, in the
// order of the registry, which is newest first. Who looks for one of them uses
// [Client.EachVersion].
func (c *Client) Versions(ctx context.Context, name string) ([]registry.Envelope, error) {
	return c.versions(ctx, name, url.Values{})
}

// VersionsDeleted is Versions with records of any status.
func (c *Client) VersionsDeleted(ctx context.Context, name string) ([]registry.Envelope, error) {
	return c.versions(ctx, name, withDeleted())
}

func (c *Client) versions(ctx context.Context, name string, query url.Values) ([]registry.Envelope, error) {
	return collect(func(use func(registry.Envelope) (bool, error)) error {
		return c.eachVersion(ctx, name, query, use)
	})
}

// collect returns all that each calls use with.
func collect[T any](each func(use func(T) (more bool, err error)) error) (all []T, err error) {
	if err := each(func(v T) (bool, error) {
		all = append(all, v)
		return true, nil
	}); err != nil {
		return nil, err
	}
	return all, nil
}

// EachVersion calls use with the records of one name, in the order of the registry,
// which is newest first, until there are no more, use wants no more or returns an error,
// which is returned as it is. No more than a page is held. More than [registry.MaxVersions]
// records or [MaxVersionBytes] are an error, as is a listing for which the registry
// takes longer than for any other call; the time that use takes does not count.
func (c *Client) EachVersion(
	ctx context.Context, name string, use func(registry.Envelope) (more bool, err error),
) error {
	return c.eachVersion(ctx, name, url.Values{}, use)
}

func (c *Client) eachVersion(
	ctx context.Context, name string, query url.Values, use func(registry.Envelope) (more bool, err error),
) error {
	path, err := escapePath("servers", name, "versions")
	if err != nil {
		return err
	}
	page := func(p registry.Page) ([]registry.Envelope, string) { return p.Servers, p.Metadata.NextCursor }
	check := func(env registry.Envelope) error { return c.expect(env, name, "") }
	return eachOf(ctx, versions{c, name, path, query, false}, page, check, use)
}

// versions are the versions of one name, which a registry answers in pages.
type versions struct {
	c          *Client
	name, path string
	query      url.Values
	full       bool // each page but the last one has records
}

// eachOf calls use with what the pages of v have, until use wants no more. Page is what one page has, with the
// cursor of the next one; check is asked about all of a page before use is called.
func eachOf[P, T any](
	ctx context.Context, v versions, page func(P) ([]T, string), check func(T) error, use func(T) (bool, error),
) error {
	wait, room, count := v.c.wait(v.path), MaxVersionBytes, 0
	for {
		began := time.Now()
		text, err := v.c.ask(ctx, wait, request{method: http.MethodGet, path: v.path, query: v.query})
		if err != nil {
			return err
		}
		wait -= time.Since(began)
		if room -= len(text); room < 0 {
			return fmt.Errorf("registry %s: the versions of %+q have more than %d bytes", v.c.Base, v.name,
				MaxVersionBytes)
		}
		var p P
		if err := v.c.decode(v.path, text, &p); err != nil {
			return err
		}
		records, next := page(p)
		for _, rec := range records {
			if err := check(rec); err != nil {
				return err
			}
		}
		for _, rec := range records {
			if count++; count > registry.MaxVersions {
				return fmt.Errorf("registry %s: %+q has more than %d versions", v.c.Base, v.name, registry.MaxVersions)
			}
			if more, err := use(rec); err != nil || !more {
				return err
			}
		}
		if next == "" {
			return nil
		}
		if next == v.query.Get("cursor") || v.full && len(records) == 0 { // others that do not end: ended by the time
			return fmt.Errorf("registry %s: the versions of %+q do not end", v.c.Base, v.name)
		}
		v.query.Set("cursor", next)
	}
}

// List returns one page of records.
func (c *Client) List(ctx context.Context, q registry.Query) (*registry.Page, error) {
	return answerAs[registry.Page](ctx, c, request{method: http.MethodGet, path: "/servers", query: queryValues(q)})
}

// queryValues are the parameters that select what q selects.
func queryValues(q registry.Query) url.Values {
	query := url.Values{}
	set := func(key, value string) {
		if value != "" {
			query.Set(key, value)
		}
	}
	if q.Deleted {
		set("include_deleted", "true")
	}
	set("search", q.Search)
	set("version", q.Version)
	set("cursor", q.Cursor)
	if q.Limit > 0 {
		set("limit", strconv.Itoa(q.Limit))
	}
	if !q.UpdatedSince.IsZero() {
		set("updated_since", q.UpdatedSince.UTC().Format(time.RFC3339Nano))
	}
	return query
}

// About asks the registry what it is, and whether it knows file_hashes.
func (c *Client) About(ctx context.Context) (*registry.About, error) {
	return answerAs[registry.About](ctx, c, request{method: http.MethodGet, path: "/version"})
}

// expect is an error unless env's document has name and, if that is not empty, version.
func (c *Client) expect(env registry.Envelope, name, version string) error {
	is, of, err := registry.ReadName(env.Server)
	if err != nil {
		return fmt.Errorf("registry %s: the record of %+q has no server", c.Base, name)
	}
	if is != name || version != "" && of != version {
		return fmt.Errorf("registry %s: asked for %+q, got the record of %+.200q version %+.200q", c.Base, name, is, of)
	}
	return nil
}

// escapePath joins segments to a path. A dot segment would name another path.
func escapePath(segments ...string) (string, error) {
	var b strings.Builder
	for _, s := range segments {
		if s == "" || s == "." || s == ".." {
			return "", fmt.Errorf("%q is neither a name nor a version", s)
		}
		b.WriteString("/" + url.PathEscape(s))
	}
	return b.String(), nil
}

// stable is the prefix of the stable version of the API.
const stable = "/v0.1"

// ParseBase returns a registry's base URL as a person gives it: with the version of the API at its end or without. Its
// error is of class Validation, and says how to write it.
func ParseBase(base string) (string, error) {
	if !strings.Contains(base, "://") {
		scheme := "https://"
		if u, err := url.Parse("//" + base); err == nil && artifact.IsLoopback(u.Hostname()) {
			scheme = "http://"
		}
		return "", evidence.Errorf(evidence.Validation, "registry", fmt.Sprintf("give its URL: '--registry %s%s'",
			scheme, surface.Escape(base)),
			fmt.Errorf("%+q is no URL", base))
	}
	base = strings.TrimRight(base, "/")
	for _, version := range []string{"/v0", "/v0.1"} {
		base = strings.TrimSuffix(base, version)
	}
	if _, err := (&Client{Base: base}).endpoint("", nil); err != nil {
		return "", evidence.Errorf(evidence.Validation, "", "", err)
	}
	return base, nil
}

// endpoint is the URL of a path.
func (c *Client) endpoint(path string, query url.Values) (*url.URL, error) {
	u, err := url.Parse(strings.TrimRight(c.Base, "/"))
	switch {
	case err != nil:
		return nil, fmt.Errorf("registry URL: %w", err)
	case u.User != nil:
		return nil, errors.New("registry URL: must not hold a password") // so it is not printed
	case u.Hostname() == "" || u.RawQuery != "" || u.Fragment != "" || u.Opaque != "":
		return nil, fmt.Errorf("registry URL %+q: must be https://host[:port][/path]", c.Base)
	case u.Scheme != "https" && !(u.Scheme == "http" && artifact.IsLoopback(u.Hostname())):
		return nil, fmt.Errorf("registry URL %+q: must be https, except on this machine", c.Base)
	}
	u, err = url.Parse(u.String() + path)
	if err != nil {
		return nil, err
	}
	u.RawQuery = query.Encode()
	return u, nil
}

// request is one request to the API of a registry.
type request struct {
	method, path string
	query        url.Values
	rawQuery     string // in place of query, as it was given
	body         []byte // JSON, nil for none
	archive      Upload // in place of body
	token        string // of the bearer, "" for none
}

// do sends one request and decodes a successful answer into out.
func (c *Client) do(ctx context.Context, r request, out any) error {
	text, err := c.ask(ctx, c.wait(r.path), r)
	if err != nil {
		return err
	}
	return c.decode(r.path, text, out)
}

// answerAs sends one request and returns what a successful answer holds.
func answerAs[T any](ctx context.Context, c *Client, r request) (*T, error) {
	out := new(T)
	if err := c.do(ctx, r, out); err != nil {
		return nil, err
	}
	return out, nil
}

// ask sends one request and returns the JSON of a successful answer, which has come in
// whole after wait.
func (c *Client) ask(ctx context.Context, wait time.Duration, r request) ([]byte, error) {
	header := http.Header{"Accept": {"application/json, " + registry.ProblemType}}
	if r.body != nil {
		header.Set("Content-Type", "application/json")
	}
	if r.token != "" {
		header.Set("Authorization", "Bearer "+r.token)
	}
	if r.archive.Body != nil {
		header.Set("Content-Type", "application/octet-stream")
	}
	text, media, err := c.send(ctx, r, sending{wait, stable, header, MaxAnswer})
	if err != nil {
		return nil, err
	}
	if media != "application/json" {
		return nil, fmt.Errorf("registry %s: %s: the answer is %+.100q, not JSON", c.Base, r.path, media)
	}
	return text, nil
}

// sending is how a request is sent, and how much of an answer is taken.
type sending struct {
	wait   time.Duration // for the whole answer
	prefix string        // of the path
	header http.Header
	limit  int // bytes of the answer
}

// send sends one request and returns a successful answer and its media type.
func (c *Client) send(ctx context.Context, r request, how sending) (text []byte, media string, err error) {
	u, err := c.endpoint(how.prefix+r.path, r.query)
	if err != nil {
		return nil, "", evidence.Errorf(evidence.Validation, "", "", err)
	}
	if r.rawQuery != "" {
		u.RawQuery = r.rawQuery
	}
	ctx, cancel := context.WithTimeout(ctx, how.wait)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, r.method, u.String(), bytes.NewReader(r.body))
	if err != nil {
		return nil, "", err
	}
	if r.archive.Body != nil {
		req.Body, req.GetBody, req.ContentLength = io.NopCloser(r.archive.Body), nil, r.archive.Size
	}
	req.Header = how.header
	req.Header.Set("User-Agent", "hallmark")
	patience := r.path
	if r.archive.Body != nil {
		patience = publishPath
	}
	res, err := c.client(patience).Do(req)
	if err != nil {
		return nil, "", fmt.Errorf("registry %s: %w", c.Base, err)
	}
	defer res.Body.Close()
	text, err = io.ReadAll(io.LimitReader(res.Body, int64(how.limit)+1))
	if err != nil {
		return nil, "", fmt.Errorf("registry %s: %s: %w", c.Base, r.path, err)
	}
	if len(text) > how.limit {
		return nil, "", fmt.Errorf("registry %s: %s: the answer is longer than %d bytes", c.Base, r.path, how.limit)
	}
	if res.StatusCode/100 != 2 {
		return nil, "", c.asProblem(res, text)
	}
	media, _, _ = mime.ParseMediaType(res.Header.Get("Content-Type"))
	return text, media, nil
}

func (c *Client) decode(path string, text []byte, out any) error {
	if err := surface.DecodeKnown(text, out); err != nil { // refuses what follows the value
		return fmt.Errorf("registry %s: %s: %w", c.Base, path, err)
	}
	return nil
}

// stayOnHost follows redirects within the registry only: another host would receive what was sent, and
// its answer would pass for the registry's.
func stayOnHost(req *http.Request, via []*http.Request) error {
	first := via[0].URL
	if len(via) > maxRedirects {
		return fmt.Errorf("more than %d redirects", maxRedirects)
	}
	if req.URL.Scheme != first.Scheme || req.URL.Host != first.Host || req.URL.User != nil {
		return fmt.Errorf("redirected to another host, %+.200q", req.URL.Host)
	}
	return nil
}

// asProblem reads the body of an error, which may come from a proxy and be anything.
func (c *Client) asProblem(res *http.Response, text []byte) *registry.Problem {
	p := new(registry.Problem)
	if err := json.Unmarshal(text, p); err != nil {
		p = new(registry.Problem)
		if media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); media == "text/plain" {
			p.Detail = string(text[:min(len(text), 200)])
		}
	}
	p.Registry = c.Base
	p.Status = res.StatusCode // of the answer, whatever its body says
	if p.Title == "" {
		p.Title = http.StatusText(res.StatusCode)
	}
	// The form with a date is ignored: it depends on the clocks of both sides.
	if s, err := strconv.ParseUint(res.Header.Get("Retry-After"), 10, 31); err == nil {
		p.RetryAfter = time.Duration(s) * time.Second
	}
	return p
}
