package registry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/serverjson"
)

// fixture is a registry over HTTP.
type fixture struct {
	*Client
	URL      string
	Counters *Counters
	Checks   atomic.Int64
	Config   Config

	srv *httptest.Server
	log bytes.Buffer
}

// Log stops the registry, as a request's line is written after its answer, and
// returns what was logged.
func (f *fixture) Log() string {
	f.srv.Close()
	return f.log.String()
}

// serve starts a registry that takes anonymous publishes and finds report for each.
// It can be changed before it starts.
func serve(t *testing.T, report evidence.Report, change func(*Config)) *fixture {
	t.Helper()
	f := &fixture{Counters: new(Counters)}
	var mu sync.Mutex
	now := epoch
	c := Config{
		Records:        openFile(t, filepath.Join(t.TempDir(), "registry.db")),
		Check:          func(context.Context, *serverjson.Document) (evidence.Report, error) { return report, nil },
		AllowAnonymous: true,
		Logger:         slog.New(slog.NewTextHandler(&f.log, nil)),
		Version:        "1.2.3",
		Counters:       f.Counters,
		Limits:         Limits{CheckWait: time.Minute},
		Now: func() time.Time {
			mu.Lock()
			defer mu.Unlock()
			now = now.Add(time.Second)
			return now
		},
	}
	db := c.Records.(*SQLite)
	c.Statuses, c.Tokens = db, db.Tokens()
	if change != nil {
		change(&c)
	}
	if check := c.Check; check != nil {
		c.Check = func(ctx context.Context, doc *serverjson.Document) (evidence.Report, error) {
			f.Checks.Add(1)
			return check(ctx, doc)
		}
	}
	f.Config = c
	h, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	f.srv = httptest.NewServer(h)
	t.Cleanup(f.srv.Close)
	f.URL, f.Client = f.srv.URL, &Client{Base: f.srv.URL}
	return f
}

// document is a valid server.json.
func document(name, version string) []byte {
	return fmt.Appendf(nil, `{
  "$schema": "%s",
  "name": %q,
  "version": %q,
  "description": "reads <notes> & more",
  "packages": [
    {"registryType": "npm", "identifier": "@example/server", "version": "1.0.0", "transport": {"type": "stdio"}}
  ],
  "file_hashes": {"npm:@example/server@1.0.0": "sha256:%s"}
}
`, serverjson.CurrentSchema, name, version, strings.Repeat("ab", 32))
}

const (
	npmID = "npm:@example/server@1.0.0"
	where = "server.json, file_hashes"
)

// sum is the sha256 digest of text.
func sum(text string) digest.Digest { return digest.FromBytes([]byte(text)) }

// claim says that subject has the digest of text.
func claim(subject, text string) evidence.Claim {
	return evidence.Claim{Subject: subject, Scheme: evidence.File, Authority: evidence.Publisher, Where: where, Want: []digest.Digest{sum(text)}}
}

func observed(text string) evidence.Observed {
	return evidence.Observed{Digests: []digest.Digest{sum(text)}, Size: int64(len(text)), From: "https://npm.example.com/server-1.0.0.tgz?a=1&b=2"}
}

func matching(subject string) evidence.Evidence {
	return evidence.Compare(claim(subject, "bytes"), observed("bytes"))
}

func mismatching(subject string) evidence.Evidence {
	return evidence.Compare(claim(subject, "claimed"), observed("actual"))
}

func unverifiable(subject string, cause evidence.Cause) evidence.Evidence {
	return evidence.CannotVerify(claim(subject, "claimed"), cause, "because of "+string(cause))
}

func owner(found string) evidence.Evidence {
	return evidence.Fact(evidence.Claim{Subject: npmID, Scheme: evidence.Ownership, Authority: evidence.Registry,
		Where: "package.json, mcpName", Text: "io.github.o/notes"}, found)
}

// wantProblem demands that err is a problem with status, whose text has every part.
func wantProblem(t *testing.T, err error, status int, parts ...string) *Problem {
	t.Helper()
	var p *Problem
	if !errors.As(err, &p) {
		t.Fatalf("error %v, want a problem with status %d", err, status)
	}
	if p.Status != status {
		t.Errorf("status %d, want %d: %v", p.Status, status, err)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("problem %q does not have %q", err, part)
		}
	}
	return p
}

// send makes one request and returns the answer and its body. Redirects are answers.
func send(t *testing.T, method, url, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(text)
}

func TestRead(t *testing.T) {
	f := serve(t, evidence.Report{matching(npmID)}, nil)
	ctx := context.Background()
	for _, s := range [][2]string{{"io.github.o/notes", "1.0.0"}, {"io.github.o/notes", "1.1.0"}, {"io.github.o/files", "0.1.0"}, {"com.example/notes", "2.0.0"}} {
		if _, err := f.Publish(ctx, document(s[0], s[1]), ""); err != nil {
			t.Fatal(err)
		}
	}
	env, err := f.Get(ctx, "io.github.o/notes", Latest)
	if err != nil {
		t.Fatal(err)
	}
	if !env.Meta.Official.IsLatest || env.Meta.Official.Status != Active || !env.Meta.Official.PublishedAt.Equal(epoch.Add(2*time.Second)) {
		t.Errorf("official %+v", env.Meta.Official)
	}
	want := canonicalDigest(t, string(document("io.github.o/notes", "1.1.0")))
	if env.Meta.Integrity.Document.String() != want.String() || canonicalDigest(t, string(env.Server)).String() != want.String() {
		t.Errorf("document %s, of the served one %s, want %s", env.Meta.Integrity.Document, canonicalDigest(t, string(env.Server)), want)
	}
	if env, err = f.Get(ctx, "io.github.o/notes", "1.0.0"); err != nil || env.Meta.Official.IsLatest {
		t.Errorf("1.0.0: latest %t, error %v", env.Meta.Official.IsLatest, err)
	}
	_, err = f.Get(ctx, "io.github.o/notes", "9.0.0")
	wantProblem(t, err, 404, "9.0.0")
	_, err = f.Get(ctx, "io.github.o/none", Latest)
	wantProblem(t, err, 404, "io.github.o/none")

	versions, err := f.Versions(ctx, "io.github.o/notes")
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "versions", names(t, versions), []string{"io.github.o/notes@1.1.0", "io.github.o/notes@1.0.0"})
	_, err = f.Versions(ctx, "io.github.o/none")
	wantProblem(t, err, 404)

	for _, c := range []struct {
		q    Query
		want []string
	}{
		{Query{}, []string{"com.example/notes@2.0.0", "io.github.o/files@0.1.0", "io.github.o/notes@1.0.0", "io.github.o/notes@1.1.0"}},
		{Query{Limit: 1}, []string{"com.example/notes@2.0.0", "io.github.o/files@0.1.0", "io.github.o/notes@1.0.0", "io.github.o/notes@1.1.0"}},
		{Query{Search: "NOTES", Version: Latest}, []string{"com.example/notes@2.0.0", "io.github.o/notes@1.1.0"}},
		{Query{Version: "1.0.0"}, []string{"io.github.o/notes@1.0.0"}},
		{Query{UpdatedSince: epoch.Add(3 * time.Second)}, []string{"com.example/notes@2.0.0", "io.github.o/files@0.1.0"}},
		{Query{Search: "nothing"}, nil},
	} {
		var got []string
		for {
			page, err := f.List(ctx, c.q)
			if err != nil {
				t.Fatal(err)
			}
			if page.Metadata.Count != len(page.Servers) {
				t.Errorf("count %d of %d", page.Metadata.Count, len(page.Servers))
			}
			got = append(got, names(t, page.Servers)...)
			if c.q.Cursor = page.Metadata.NextCursor; c.q.Cursor == "" {
				break
			}
		}
		equal(t, fmt.Sprintf("list %+v", c.q), got, c.want)
	}
}

func names(t *testing.T, envelopes []Envelope) []string {
	t.Helper()
	var out []string
	for _, e := range envelopes {
		var doc struct{ Name, Version string }
		if err := json.Unmarshal(e.Server, &doc); err != nil {
			t.Fatal(err)
		}
		out = append(out, doc.Name+"@"+doc.Version)
	}
	return out
}

func TestRoutes(t *testing.T) {
	f := serve(t, evidence.Report{matching(npmID)}, nil)
	if _, err := f.Publish(context.Background(), document("io.github.o/notes", "1.0.0"), ""); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path   string
		status int
		part   string
	}{
		{"/servers", 200, `"count":1`},
		{"/servers?limit=1&version=latest&search=notes", 200, `"count":1`},
		{"/servers?search=", 200, `"count":1`},
		{"/servers?search=zzz", 200, `{"servers":[],"metadata":{"count":0}}`},
		{"/servers?limit=0", 422, "limit"},
		{"/servers?limit=101", 422, "limit"},
		{"/servers?limit=x", 422, "limit"},
		{"/servers?search=ab", 422, "3 characters"},
		{"/servers?search=%20ab%20", 422, "3 characters"},
		{"/servers?search=%C3%A9%C3%A9", 422, "3 characters"},
		{"/servers?search=" + strings.Repeat("x", 2000), 422, "longer"},
		{"/servers?updated_since=yesterday", 400, "RFC 3339"},
		{"/servers?updated_since=2026-01-31T12:00:00Z", 200, `"count":1`},
		{"/servers?updated_since=2126-01-31T12:00:00%2B01:00", 200, `"count":0`},
		{"/servers?cursor=!!", 400, "cursor"},
		{"/servers?search=a%00b", 400, "NUL"},
		{"/servers/io.github.o%2Fnotes/versions", 200, `"count":1`},
		{"/servers/io.github.o%2Fnotes/versions/1.0.0", 200, `"isLatest":true`},
		{"/servers/io%2Egithub.o%2fnotes/versions/latest", 200, `"isLatest":true`},
		{"/servers/io.github.o%2Fnotes/versions/1.0.1", 404, "not found"},
		{"/servers/io.github.o%00/versions/1.0.0", 400, "NUL"},
		{"/servers/%3Cscript%3E%E2%80%AE/versions/1.0.0", 404, `<script>\\u202e`},
		{"/servers/io.github.o/notes/versions/1.0.0", 404, "no such path"},
		{"/ping", 200, `{"pong":true}`},
		{"/health", 200, `{"status":"ok"}`},
		{"/version", 200, `{"version":"1.2.3","git_commit":"","build_time":"","file_hashes":"enforce"}`},
		{"/publish", 405, "method"},
		{"/nothing", 404, "no such path"},
	} {
		bodies := map[string]bool{}
		for _, prefix := range []string{"/v0", "/v0.1"} {
			res, body := send(t, "GET", f.URL+prefix+c.path, "")
			if res.StatusCode != c.status || !strings.Contains(body, c.part) {
				t.Errorf("%s%s: %d %s, want %d with %s", prefix, c.path, res.StatusCode, body, c.status, c.part)
			}
			want := "application/json"
			if c.status >= 400 {
				want = "application/problem+json"
			}
			h := res.Header
			if h.Get("Content-Type") != want || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("X-Request-Id") == "" {
				t.Errorf("%s: headers %v", c.path, h)
			}
			if c.part != "NUL" && h.Get("Access-Control-Allow-Origin") != "*" {
				t.Errorf("%s: no CORS header", c.path)
			}
			bodies[body] = true
		}
		if len(bodies) != 1 {
			t.Errorf("%s: /v0 and /v0.1 differ: %v", c.path, bodies)
		}
	}
	for _, c := range []struct {
		method, path, location, allow string
		status                        int
	}{
		{"GET", "/v0/servers/", "/v0/servers", "", 308},
		{"POST", "/v0/publish/?a=b&c=%2F", "/v0/publish?a=b&c=%2F", "", 308},
		{"GET", "/v0/servers/io.github.o%2Fnotes/versions/", "/v0/servers/io.github.o%2Fnotes/versions", "", 308},
		{"GET", "//evil.example.com/", "/evil.example.com", "", 308},
		{"GET", "//evil.example.com//", "/evil.example.com", "", 308},
		{"PUT", "/v0/servers/io.github.o%2Fnotes/versions/1.0.0", "", "", 405},
		{"DELETE", "/v0/servers/io.github.o%2Fnotes/versions/1.0.0", "", "GET, HEAD, PUT", 405},
		{"PUT", "/v0.1/publish", "", "POST", 405},
		{"OPTIONS", "/v0/servers", "", "", 204},
	} {
		res, body := send(t, c.method, f.URL+c.path, "")
		if res.StatusCode != c.status || res.Header.Get("Location") != c.location || res.Header.Get("Allow") != c.allow {
			t.Errorf("%s %s: %d %s, location %q, allow %q", c.method, c.path, res.StatusCode, body, res.Header.Get("Location"), res.Header.Get("Allow"))
		}
	}
	res, _ := send(t, "OPTIONS", f.URL+"/v0/publish", "", "Origin", "https://page.example.com", "Access-Control-Request-Method", "POST")
	for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
		if got := res.Header.Get("Access-Control-Allow-Methods"); !strings.Contains(got, method) {
			t.Errorf("a page may use %s only", got)
		}
	}
	if got := res.Header.Get("Access-Control-Allow-Headers"); !strings.Contains(got, "Authorization") {
		t.Errorf("a page may send %s only", got)
	}
	if res, body := send(t, "HEAD", f.URL+"/v0/servers", ""); res.StatusCode != 200 || body != "" {
		t.Errorf("HEAD: %d %q", res.StatusCode, body)
	}
}

// Faults inside are a 500 that says nothing of them, and the server goes on.
func TestFaults(t *testing.T) {
	for name, check := range map[string]func(context.Context, *serverjson.Document) (evidence.Report, error){
		"panic": func(context.Context, *serverjson.Document) (evidence.Report, error) { panic("secret inside") },
		"error": func(context.Context, *serverjson.Document) (evidence.Report, error) {
			return nil, errors.New("secret inside")
		},
	} {
		f := serve(t, nil, func(c *Config) { c.Check = check })
		res, body := send(t, "POST", f.URL+"/v0/publish", string(document("io.github.o/notes", "1.0.0")), "Content-Type", "application/json")
		if res.StatusCode != 500 || strings.Contains(body, "secret") || res.Header.Get("Content-Type") != problemType {
			t.Errorf("%s: %d %s", name, res.StatusCode, body)
		}
		if _, err := f.Get(context.Background(), "io.github.o/notes", "1.0.0"); err == nil {
			t.Errorf("%s: published", name)
		}
		id := res.Header.Get("X-Request-Id")
		if log := f.Log(); !strings.Contains(log, "secret inside") || !strings.Contains(log, "request="+id) {
			t.Errorf("%s: log %s", name, log)
		}
	}
	f := serve(t, nil, func(c *Config) {
		db := openFile(t, filepath.Join(t.TempDir(), "closed.db"))
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		c.Records = db
	})
	for path, status := range map[string]int{"/v0/health": 503, "/v0/servers": 500, "/v0/ping": 200} {
		if res, body := send(t, "GET", f.URL+path, ""); res.StatusCode != status || strings.Contains(body, "closed") {
			t.Errorf("%s: %d %s", path, res.StatusCode, body)
		}
	}
}

// A full disk is told as what passes: readers are served, publishers are to come back, and
// with room again the registry goes on by itself.
func TestDatabaseFull(t *testing.T) {
	var db *SQLite
	f := serve(t, nil, func(c *Config) {
		db = openFile(t, filepath.Join(t.TempDir(), "full.db"))
		c.Records = db
	})
	next := 0
	publish := func() (int, string) {
		next++
		res, _ := send(t, "POST", f.URL+"/v0/publish", string(document("io.github.o/notes", fmt.Sprintf("1.0.%d", next))), "Content-Type", "application/json")
		return res.StatusCode, res.Header.Get("Retry-After")
	}
	pages := func(most int) {
		t.Helper()
		if _, err := db.Writer().Exec(fmt.Sprintf("PRAGMA max_page_count = %d", most)); err != nil {
			t.Fatal(err)
		}
	}
	size := 0
	if err := db.Writer().QueryRow("PRAGMA page_count").Scan(&size); err != nil {
		t.Fatal(err)
	}
	pages(size)
	status, wait := publish()
	for status == http.StatusOK && next < 500 { // pages have some room left
		status, wait = publish()
	}
	if status != http.StatusServiceUnavailable || wait == "" {
		t.Errorf("full: %d, Retry-After %q", status, wait)
	}
	if res, body := send(t, "GET", f.URL+"/v0/servers", ""); res.StatusCode != http.StatusOK {
		t.Errorf("readers: %d %s", res.StatusCode, body)
	}
	pages(1 << 20)
	if status, _ := publish(); status != http.StatusOK {
		t.Errorf("with room again: %d", status)
	}
	if noRoom(errors.New("x")) || !noRoom(fmt.Errorf("blob: %w", &os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC})) {
		t.Error("noRoom")
	}
}

// A log is one line for each entry, and holds neither tokens nor control characters.
func TestLog(t *testing.T) {
	f := serve(t, nil, nil)
	send(t, "GET", f.URL+"/v0/servers/a%0Ab%1B%5B31m/versions", "")
	send(t, "POST", f.URL+"/v0/publish", "{}", "Content-Type", "application/json", "Authorization", "Bearer s3cr3t")
	log := f.Log()
	if strings.Count(log, "\n") != 2 || strings.ContainsAny(log, "\x1b") || strings.Contains(log, "s3cr3t") {
		t.Errorf("log %q", log)
	}
}

func TestNewRefuses(t *testing.T) {
	db := openFile(t, filepath.Join(t.TempDir(), "registry.db"))
	check := func(context.Context, *serverjson.Document) (evidence.Report, error) { return nil, nil }
	for name, c := range map[string]Config{
		"no records":              {Check: check},
		"no check":                {Records: db},
		"observe without a check": {Records: db, Validation: Observe},
		"unknown validation":      {Records: db, Check: check, Validation: "strict"},
		"requires, but is off":    {Records: db, Validation: Off, RequireHashes: true},
	} {
		if _, err := New(c); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := New(Config{Records: db, Validation: Off}); err != nil {
		t.Error(err)
	}
}

// A publish outlasts what the server grants others for reading and writing.
func TestSlowPublish(t *testing.T) {
	h, err := New(Config{
		Records: openFile(t, filepath.Join(t.TempDir(), "registry.db")), AllowAnonymous: true,
		Check: func(ctx context.Context, _ *serverjson.Document) (evidence.Report, error) {
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(600 * time.Millisecond):
				return evidence.Report{matching(npmID)}, nil
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewUnstartedServer(h)
	srv.Config = NewServer("", h)
	if srv.Config.ReadHeaderTimeout <= 0 || srv.Config.IdleTimeout <= 0 || srv.Config.WriteTimeout <= 0 || srv.Config.MaxHeaderBytes <= 0 {
		t.Error("a server without limits")
	}
	srv.Config.ReadTimeout, srv.Config.WriteTimeout = 200*time.Millisecond, 200*time.Millisecond
	srv.Start()
	defer srv.Close()
	if _, err := (&Client{Base: srv.URL}).Publish(context.Background(), document("io.github.o/notes", "1.0.0"), ""); err != nil {
		t.Error(err)
	}
}
