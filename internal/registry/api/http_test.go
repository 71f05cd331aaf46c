package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/api"
	"github.com/hallmark-mcp/hallmark/internal/registry/registrytest"
	"github.com/hallmark-mcp/hallmark/internal/registry/servertest"
	"github.com/hallmark-mcp/hallmark/serverjson"
)

func TestRead(t *testing.T) {
	f := servertest.Serve(t, evidence.Report{registrytest.Matching(registrytest.NpmID)}, nil)
	ctx := context.Background()
	for _, s := range [][2]string{{"io.github.o/notes", "1.0.0"}, {"io.github.o/notes", "1.1.0"},
		{"io.github.o/files", "0.1.0"}, {"com.example/notes", "2.0.0"}} {
		if _, err := f.Publish(ctx, registrytest.Document(s[0], s[1]), ""); err != nil {
			t.Fatal(err)
		}
	}
	env, err := f.Get(ctx, "io.github.o/notes", registry.Latest)
	if err != nil {
		t.Fatal(err)
	}
	if !env.Meta.Official.IsLatest || env.Meta.Official.Status != registry.Active ||
		!env.Meta.Official.PublishedAt.Equal(registrytest.Epoch.Add(2*time.Second)) {
		t.Errorf("official %+v", env.Meta.Official)
	}
	want := registrytest.CanonicalDigest(t, string(registrytest.Document("io.github.o/notes", "1.1.0")))
	if env.Meta.Integrity.Document.String() != want.String() ||
		registrytest.CanonicalDigest(t, string(env.Server)).String() != want.String() {
		t.Errorf("document %s, of the served one %s, want %s", env.Meta.Integrity.Document,
			registrytest.CanonicalDigest(t, string(env.Server)), want)
	}
	if env, err = f.Get(ctx, "io.github.o/notes", "1.0.0"); err != nil || env.Meta.Official.IsLatest {
		t.Errorf("1.0.0: latest %t, error %v", env.Meta.Official.IsLatest, err)
	}
	_, err = f.Get(ctx, "io.github.o/notes", "9.0.0")
	registrytest.WantProblem(t, err, 404, "9.0.0")
	_, err = f.Get(ctx, "io.github.o/none", registry.Latest)
	registrytest.WantProblem(t, err, 404, "io.github.o/none")

	versions, err := f.Versions(ctx, "io.github.o/notes")
	if err != nil {
		t.Fatal(err)
	}
	registrytest.Equal(t, "versions", names(t, versions),
		[]string{"io.github.o/notes@1.1.0", "io.github.o/notes@1.0.0"})
	_, err = f.Versions(ctx, "io.github.o/none")
	registrytest.WantProblem(t, err, 404)

	for _, c := range []struct {
		q    registry.Query
		want []string
	}{
		{registry.Query{},
			[]string{"com.example/notes@2.0.0", "io.github.o/files@0.1.0", "io.github.o/notes@1.0.0",
				"io.github.o/notes@1.1.0"}},
		{registry.Query{Limit: 1},
			[]string{"com.example/notes@2.0.0", "io.github.o/files@0.1.0", "io.github.o/notes@1.0.0",
				"io.github.o/notes@1.1.0"}},
		{registry.Query{Search: "NOTES", Version: registry.Latest},
			[]string{"com.example/notes@2.0.0", "io.github.o/notes@1.1.0"}},
		{registry.Query{Version: "1.0.0"}, []string{"io.github.o/notes@1.0.0"}},
		{registry.Query{UpdatedSince: registrytest.Epoch.Add(3 * time.Second)},
			[]string{"com.example/notes@2.0.0", "io.github.o/files@0.1.0"}},
		{registry.Query{Search: "nothing"}, nil},
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
		registrytest.Equal(t, fmt.Sprintf("list %+v", c.q), got, c.want)
	}
}

func names(t *testing.T, envelopes []registry.Envelope) []string {
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
	f := servertest.Serve(t, evidence.Report{registrytest.Matching(registrytest.NpmID)}, nil)
	if _, err := f.Publish(context.Background(), registrytest.Document("io.github.o/notes", "1.0.0"), ""); err != nil {
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
			res, body := registrytest.Send(t, "GET", f.URL+prefix+c.path, "")
			if res.StatusCode != c.status || !strings.Contains(body, c.part) {
				t.Errorf("%s%s: %d %s, want %d with %s", prefix, c.path, res.StatusCode, body, c.status, c.part)
			}
			want := "application/json"
			if c.status >= 400 {
				want = "application/problem+json"
			}
			h := res.Header
			if h.Get("Content-Type") != want || h.Get("X-Content-Type-Options") != "nosniff" ||
				h.Get("X-Request-Id") == "" {
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
		res, body := registrytest.Send(t, c.method, f.URL+c.path, "")
		if res.StatusCode != c.status || res.Header.Get("Location") != c.location ||
			res.Header.Get("Allow") != c.allow {
			t.Errorf("%s %s: %d %s, location %q, allow %q", c.method, c.path, res.StatusCode, body,
				res.Header.Get("Location"), res.Header.Get("Allow"))
		}
	}
	res, _ := registrytest.Send(t, "OPTIONS", f.URL+"/v0/publish", "", "Origin", "https://page.example.com",
		"Access-Control-Request-Method", "POST")
	for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
		if got := res.Header.Get("Access-Control-Allow-Methods"); !strings.Contains(got, method) {
			t.Errorf("a page may use %s only", got)
		}
	}
	if got := res.Header.Get("Access-Control-Allow-Headers"); !strings.Contains(got, "Authorization") {
		t.Errorf("a page may send %s only", got)
	}
	if res, body := registrytest.Send(t, "HEAD", f.URL+"/v0/servers", ""); res.StatusCode != 200 || body != "" {
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
		f := servertest.Serve(t, nil, func(c *api.Config) { c.Check = check })
		res, body := registrytest.Send(t, "POST", f.URL+"/v0/publish",
			string(registrytest.Document("io.github.o/notes", "1.0.0")), "Content-Type", "application/json")
		if res.StatusCode != 500 || strings.Contains(body, "secret") ||
			res.Header.Get("Content-Type") != registry.ProblemType {
			t.Errorf("%s: %d %s", name, res.StatusCode, body)
		}
		if _, err := f.Get(context.Background(), "io.github.o/notes", "1.0.0"); err == nil {
			t.Errorf("%s: published", name)
		}
		id := res.Header.Get("X-Request-Id")
		if !strings.Contains(body, "request="+id) {
			t.Errorf("%s: %s does not name request %s", name, body, id)
		}
		if log := f.Log(); !strings.Contains(log, "secret inside") || !strings.Contains(log, "request="+id) {
			t.Errorf("%s: log %s", name, log)
		}
	}
	f := servertest.Serve(t, nil, func(c *api.Config) {
		db := servertest.OpenSQLite(t, filepath.Join(t.TempDir(), "closed.db"))
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		c.Records = db
	})
	for path, status := range map[string]int{"/v0/health": 503, "/v0/servers": 500, "/v0/ping": 200} {
		if res, body := registrytest.Send(t, "GET", f.URL+path, ""); res.StatusCode != status ||
			strings.Contains(body, "closed") {
			t.Errorf("%s: %d %s", path, res.StatusCode, body)
		}
	}
}

// The log names the client, and not the proxy in front that is trusted.
func TestLogClient(t *testing.T) {
	f := servertest.Serve(t, nil, func(c *api.Config) {
		c.Limits.Proxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	})
	registrytest.Send(t, "GET", f.URL+"/v0/nowhere", "", "X-Forwarded-For", "192.0.2.7")
	if log := f.Log(); !strings.Contains(log, "remote=192.0.2.7\n") {
		t.Errorf("log %q", log)
	}
}

// A log is one line for each entry, and holds neither tokens nor control characters.
func TestLog(t *testing.T) {
	f := servertest.Serve(t, nil, nil)
	registrytest.Send(t, "GET", f.URL+"/v0/servers/a%0Ab%1B%5B31m/versions", "")
	registrytest.Send(t, "POST", f.URL+"/v0/publish", "{}", "Content-Type", "application/json", "Authorization",
		"Bearer s3cr3t")
	log := f.Log()
	if strings.Count(log, "\n") != 2 || strings.ContainsAny(log, "\x1b") || strings.Contains(log, "s3cr3t") {
		t.Errorf("log %q", log)
	}
}
