package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/registrytest"
)

// answer starts a server that gives every request to handle.
func answer(t *testing.T, handle http.HandlerFunc) *Client {
	t.Helper()
	srv := httptest.NewServer(handle)
	t.Cleanup(srv.Close)
	return &Client{Base: srv.URL}
}

func say(status int, media, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", media)
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}
}

func TestClientBase(t *testing.T) {
	for base, want := range map[string]string{
		"https://example.com":           "https://example.com/v0.1/ping",
		"https://example.com/":          "https://example.com/v0.1/ping",
		"https://example.com:8443/a/b/": "https://example.com:8443/a/b/v0.1/ping",
		"http://127.0.0.1:8080":         "http://127.0.0.1:8080/v0.1/ping",
		"http://[::1]:8080":             "http://[::1]:8080/v0.1/ping",
		"http://LOCALHOST":              "http://LOCALHOST/v0.1/ping",
		"http://example.com":            "",
		"http://127.0.0.1.example.com":  "",
		"http://localhost.example.com":  "",
		"http://0.0.0.0":                "",
		"https://u:p@example.com":       "",
		"https://example.com?x=y":       "",
		"https://example.com#x":         "",
		"https:example.com":             "",
		"ftp://example.com":             "",
		"example.com":                   "",
		"":                              "",
		"https://":                      "",
	} {
		u, err := (&Client{Base: base}).endpoint(stable+"/ping", nil)
		switch {
		case want == "" && err == nil:
			t.Errorf("%q gives %s", base, u)
		case want != "" && err != nil:
			t.Errorf("%q: %v", base, err)
		case want != "" && u.String() != want:
			t.Errorf("%q gives %s", base, u)
		}
		if err != nil && strings.Contains(err.Error(), "u:p") {
			t.Errorf("a password is printed: %v", err)
		}
	}
}

func TestClientRequests(t *testing.T) {
	var got *http.Request
	c := answer(t, func(w http.ResponseWriter, r *http.Request) {
		got = r
		say(200, "application/json", `{"server":{"name":"io.github.o/a","version":"1.0.0 b/?#"},"servers":[]}`)(w, r)
	})
	ctx := context.Background()
	if _, err := c.Get(ctx, "io.github.o/a", "1.0.0 b/?#"); err != nil {
		t.Fatal(err)
	}
	if want := "/v0.1/servers/io.github.o%2Fa/versions/1.0.0%20b%2F%3F%23"; got.URL.EscapedPath() != want ||
		got.URL.RawQuery != "" || got.Header.Get("Authorization") != "" {
		t.Errorf("asked for %s", got.URL)
	}
	if _, err := c.Publish(ctx, []byte(`{"name":"io.github.o/a","version":"1.0.0 b/?#"}`), "t0k"); err != nil {
		t.Fatal(err)
	}
	if got.Header.Get("Authorization") != "Bearer t0k" || got.Header.Get("Content-Type") != "application/json" ||
		got.URL.Path != "/v0.1/publish" {
		t.Errorf("published with %v", got.Header)
	}
	q := registry.Query{Search: "a&b", Version: registry.Latest, Limit: 7, Cursor: "x=",
		UpdatedSince: registrytest.Epoch}
	if _, err := c.List(ctx, q); err != nil {
		t.Fatal(err)
	}
	if want := "cursor=x%3D&limit=7&search=a%26b&updated_since=2026-01-31T12%3A00%3A00.123456Z&version=latest"; got.URL.RawQuery != want {
		t.Errorf("listed %s", got.URL.RawQuery)
	}
	got = nil
	for _, v := range []string{"", ".", ".."} {
		if _, err := c.Get(ctx, "io.github.o/a", v); err == nil || got != nil {
			t.Errorf("version %q was asked for", v)
		}
	}
}

func TestClientRefusesAnswers(t *testing.T) {
	ctx := context.Background()
	get := func(c *Client) error { _, err := c.Get(ctx, "io.github.o/a", "1.0.0"); return err }
	for name, c := range map[string]struct {
		handle http.HandlerFunc
		want   string
	}{
		"another version": {say(200, "application/json", `{"server":{"name":"io.github.o/a","version":"1.0.1"}}`),
			"1.0.1"},
		"another name": {say(200, "application/json", `{"server":{"name":"io.github.o/b","version":"1.0.0"}}`),
			"io.github.o/b"},
		"a name that counts": {
			say(200, "application/json",
				`{"server":{"name":"io.github.o/b","Name":"io.github.o/a","version":"1.0.0"}}`), "io.github.o/b"},
		"a server twice": {
			say(200, "application/json",
				`{"server":{"name":"io.github.o/a","version":"1.0.0"},"Server":{"name":"io.github.o/a",`+
					`"version":"1.0.0"}}`), "case counts"},
		"a digest in capitals": {
			say(200, "application/json",
				`{"server":{"name":"io.github.o/a","version":"1.0.0"},`+
					`"_meta":{"hallmark/integrity":{"Document":null}}}`), "case counts"},
		"no server":     {say(200, "application/json", `{}`), "no server"},
		"not an object": {say(200, "application/json", `{"server":[]}`), "no server"},
		"something after": {say(200, "application/json", `{"server":{"name":"io.github.o/a","version":"1.0.0"}} {}`),
			"after"},
		"cut off":           {say(200, "application/json", `{"server":{"name":"io.github.o/a"`), "unexpected end"},
		"a page of a proxy": {say(200, "text/html", `<html>`), "not JSON"},
		"endless": {say(200, "application/json", `{"x":"`+strings.Repeat("x", MaxAnswer)+`"}`),
			"longer than"},
		"a bad digest": {
			say(200, "application/json",
				`{"server":{"name":"io.github.o/a","version":"1.0.0"},`+
					`"_meta":{"hallmark/integrity":{"document":"md5:00"}}}`), "md5"},
	} {
		if err := get(answer(t, c.handle)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	again := answer(t,
		say(200, "application/json", `{"servers":[{"server":{"name":"io.github.o/a"}}],"metadata":{"nextCursor":"x"}}`))
	if _, err := again.Versions(ctx, "io.github.o/a"); err == nil || !strings.Contains(err.Error(), "do not end") {
		t.Errorf("the same cursor again: %v", err)
	}
	other := answer(t, say(200, "application/json", `{"servers":[{"server":{"name":"io.github.o/b"}}]}`))
	if _, err := other.Versions(ctx, "io.github.o/a"); err == nil {
		t.Error("versions of another name")
	}
}

func TestClientProblems(t *testing.T) {
	ctx := context.Background()
	for name, c := range map[string]struct {
		status      int
		media, body string
		want        string
	}{
		"a problem": {422, registry.ProblemType,
			`{"title":"Unprocessable Entity","status":200,"detail":"validation failed","errors":[{"message":"m",` +
				`"location":"body.name","value":{"a":1}}]}`,
			"422 Unprocessable Entity: validation failed\n  body.name: m"},
		"source 000's body": {422, "application/json",
			`{"error":"Hash validation failed","details":{"npm:a@1":{"expected":"sha256:a","actual":"sha256:b",` +
				`"status":"mismatch"}}}`, "422 Unprocessable Entity: Hash validation failed\n  npm:a@1: mismatch"},
		"a page":             {502, "text/html", `<html>`, "502 Bad Gateway"},
		"text":               {404, "text/plain", "nothing\x1b here", `404 Not Found: nothing\x1b here`},
		"another JSON":       {500, "application/json", `{"error":{"code":7}}`, "500 Internal Server Error"},
		"a status of no use": {300, "application/json", `[]`, "300 Multiple Choices"},
	} {
		_, err := answer(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", "7")
			say(c.status, c.media, c.body)(w, r)
		}).Get(ctx, "io.github.o/a", "1.0.0")
		p := registrytest.WantProblem(t, err, c.status)
		if !strings.HasPrefix(err.Error(), c.want) || p.RetryAfter != 7*time.Second {
			t.Errorf("%s: %q after %v, want %q", name, err, p.RetryAfter, c.want)
		}
	}
}

// What was sent over TLS does not go on without.
func TestClientStays(t *testing.T) {
	first := &http.Request{URL: &url.URL{Scheme: "https", Host: "example.com", Path: "/v0/publish"}}
	for to, ok := range map[string]bool{
		"https://example.com/elsewhere": true, "http://example.com/v0/publish": false,
		"https://example.com:8443/": false,
		"https://u@example.com/":    false, "https://www.example.com/": false,
	} {
		u, err := url.Parse(to)
		if err != nil {
			t.Fatal(err)
		}
		if err := stayOnHost(&http.Request{URL: u}, []*http.Request{first}); (err == nil) != ok {
			t.Errorf("%s: %v", to, err)
		}
	}
}

func TestClientRedirects(t *testing.T) {
	ctx := context.Background()
	reached := false
	elsewhere := answer(t, func(http.ResponseWriter, *http.Request) { reached = true })
	c := answer(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.Base+r.URL.Path, http.StatusPermanentRedirect)
	})
	if _, err := c.Publish(ctx, []byte(`{"name":"io.github.o/a"}`), "t0k"); err == nil || reached ||
		!strings.Contains(err.Error(), "another host") {
		t.Errorf("followed to another host: %v", err)
	}
	c = answer(t, func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/moved") {
			http.Redirect(w, r, "/moved"+r.URL.Path, http.StatusPermanentRedirect)
			return
		}
		say(200, "application/json",
			`{"server":{"name":"io.github.o/a","version":"`+r.Header.Get("Authorization")+`"}}`)(w, r)
	})
	if _, err := c.Publish(ctx, []byte(`{"name":"io.github.o/a","version":"Bearer t0k"}`), "t0k"); err != nil {
		t.Errorf("not followed on the host: %v", err)
	}
	c = answer(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/x"+r.URL.Path, http.StatusFound)
	})
	if _, err := c.About(ctx); err == nil || !strings.Contains(err.Error(), "redirects") {
		t.Errorf("followed without end: %v", err)
	}
}

// What another registry answers, a client reads.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte(
		`{"server":{"name":"io.example/a","version":"1.0.0"},` +
			`"_meta":{"io.modelcontextprotocol.registry/official":{"status":"active","isLatest":true},` +
			`"hallmark/integrity":{"evidence":[],"findings":[]}}}`))
	f.Add([]byte(`{"servers":[],"metadata":{"nextCursor":"x"}}`))
	f.Add([]byte(`{"kind":"facet","name":"a","version":"1.0.0","content_hash":"sha256:00","manifest":{}}`))
	c := &Client{Base: "https://registry.example.com"}
	f.Fuzz(func(t *testing.T, data []byte) {
		var env registry.Envelope
		if c.decode("/x", data, &env) == nil {
			if c.expect(env, "io.example/a", "1.0.0") == nil && !json.Valid(env.Server) {
				t.Errorf("%q", env.Server)
			}
			if i := env.Meta.Integrity; i != nil {
				for _, found := range i.Findings {
					found.Failing()
				}
			}
		}
		if rec, err := c.archiveRecord("/x", data, "facets", "a", "1.0.0"); err == nil &&
			(rec.Name != "a" || rec.Version != "1.0.0") {
			t.Errorf("%+v", rec)
		}
	})
}

func TestChangesAsks(t *testing.T) {
	var asked string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.String()
		w.Header().Set("Content-Type", "application/json")
		w.Write([]byte(`{"servers":[],"metadata":{"count":0}}`))
	}))
	defer srv.Close()
	c := &Client{Base: srv.URL}
	for _, tt := range []struct {
		cursor string
		since  time.Time
		want   string
	}{
		{"", time.Time{}, "/v0.1/servers?include_deleted=true&limit=100"},
		{"a:b", registrytest.Epoch,
			"/v0.1/servers?cursor=a%3Ab&include_deleted=true&limit=100&updated_since=2026-01-31T12%3A00%3A00Z"},
	} {
		if _, err := c.Changes(context.Background(), tt.cursor, tt.since); err != nil || asked != tt.want {
			t.Errorf("asked %s (%v), want %s", asked, err, tt.want)
		}
	}
}
