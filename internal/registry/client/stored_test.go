package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/e2e/hang"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/registrytest"
	"github.com/hallmark-mcp/hallmark/serverjson"
)

// storing answers a publish with server and meta, and /version with about.
func storing(t *testing.T, server, meta, about string) *Client {
	t.Helper()
	return answer(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/version") {
			say(200, "application/json", about)(w, r)
			return
		}
		say(200, "application/json", `{"server":`+server+`,"_meta":`+meta+`}`)(w, r)
	})
}

// A registry that stores something else than what was sent is found out.
func TestPublishedAsSent(t *testing.T) {
	const (
		ours     = `{"version":"1.2.3","file_hashes":"enforce"}`
		official = `{"version":"1.2.3","git_commit":"abc"}`
		// 64 digits follow
		publish = `"_meta":{"io.modelcontextprotocol.registry/publisher-provided":{"tool":"x",` +
			`"file_hashes":{"npm:@example/server@1.0.0":"sha256:`
	)
	plain := string(registrytest.Document("io.github.o/notes", "1.0.0"))
	digestOfPlain, err := registry.DigestOf([]byte(plain))
	if err != nil {
		t.Fatal(err)
	}
	integrity := func(d string) string { return `{"hallmark/integrity":{"document":"` + d + `","evidence":[]}}` }
	bare := func(more string) string {
		return `{"$schema":"` + serverjson.CurrentSchema +
			`","name":"io.github.o/notes","version":"1.0.0","description":"d",` + more +
			`"packages":[{"registryType":"npm","identifier":"@example/server","version":"1.0.0",` +
			`"transport":{"type":"stdio"},` +
			`"environmentVariables":[{"name":"A"}]}]}`
	}
	empties := strings.Replace(
		bare(`"remotes":[],"icons":[],"x-note":{"a":1},"title":"T","_meta":{"com.example/a":1},`), `{"name":"A"}]`,
		`{"name":"A","isRequired":false,"choices":[]}],"runtimeArguments":[]`, 1)
	hashed := bare(publish + strings.Repeat("ab", 32) + `"}}},`)

	for name, c := range map[string]struct {
		sent, stored, meta, about string
		want                      string // in the error; "" is none
	}{
		"the same": {plain, plain, integrity(digestOfPlain.String()), ours, ""},
		"reformatted": {plain, strings.ReplaceAll(plain, "\n", ""), integrity(digestOfPlain.String()),
			ours, ""},
		"nothing said of it": {plain, plain, `{}`, official, ""},
		"another package": {plain, strings.Replace(plain, "@example/server\"", "@evil/server\"", 1), `{}`,
			official, "another document"},
		"another hash": {plain, strings.Replace(plain, "abab", "cdcd", 1), `{}`, official,
			"another document"},
		"no hash": {plain, strings.Replace(plain, `"file_hashes"`, `"x-hashes"`, 1), `{}`, official,
			"another document"},
		"another, and vouched for": {plain, strings.Replace(plain, "abab", "cdcd", 1),
			integrity(digestOfPlain.String()), ours, "another document"},
		"a false digest": {plain, plain, integrity(registrytest.Sum("x").String()), ours,
			"digest is not that"},
		"a member twice":             {plain, `{"name":"x",` + plain[1:], `{}`, official, "no canonical form"},
		"without what is empty":      {empties, bare(`"title":"T",`), `{}`, official, ""},
		"the same, where hashes are": {empties, bare(`"title":"T",`), `{}`, ours, "another document"},
		"the same, with integrity": {empties, bare(`"title":"T",`), integrity(digestOfPlain.String()), official,
			"another document"},
		"the same, unknown registry": {empties, bare(`"title":"T",`), `{}`, `[]`, "another document"},
		"another variable": {empties,
			strings.Replace(bare(`"title":"T",`), `{"name":"A"}`, `{"name":"A","isRequired":true}`, 1), `{}`, official,
			"another document"},
		"another title":             {empties, bare(`"title":"U",`), `{}`, official, "another document"},
		"another case of a member":  {bare(""), bare(`"Packages":[],`), `{}`, official, "another document"},
		"_meta but the hashes lost": {hashed, strings.Replace(hashed, `"tool":"x",`, "", 1), `{}`, official, ""},
		"hashes of _meta lost": {hashed,
			bare(`"_meta":{"io.modelcontextprotocol.registry/publisher-provided":{"tool":"x"}},`), `{}`, official,
			"another document"},
		"hashes of _meta are others'": {hashed, strings.Replace(hashed, "abab", "cdcd", 1), `{}`, official,
			"another document"},
	} {
		client := storing(t, c.stored, c.meta, c.about)
		env, err := client.Publish(context.Background(), []byte(c.sent), "")
		if c.want == "" {
			if err != nil || env == nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || evidence.ClassOf(err) != evidence.Integrity ||
			env != nil {
			t.Errorf("%s: class %s, %v", name, evidence.ClassOf(err), err)
		}
	}

	// Both digests are in the error.
	other := strings.Replace(plain, "abab", "cdcd", 1)
	digestOfOther, err := registry.DigestOf([]byte(other))
	if err != nil {
		t.Fatal(err)
	}
	client := storing(t, other, `{}`, ours)
	_, err = client.Publish(context.Background(), []byte(plain), "")
	want := fmt.Sprintf("registry %s: it stored another document than was sent\n"+
		"  expected %s  (claimed by the document that was sent)\n"+
		"  actual   %s  (the document that the registry stored)\n  hint: ", client.Base, digestOfPlain, digestOfOther)
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("error %v\nwant %s", err, want)
	}

	// A registry that cannot be named is bad usage, not a fault of the network.
	if _, err := (&Client{Base: "http://example.com"}).Publish(context.Background(), []byte(plain),
		""); evidence.ClassOf(err) != evidence.Validation {
		t.Errorf("plain http: class %s, %v", evidence.ClassOf(err), err)
	}

	// What has no canonical form is not sent.
	if _, err := (&Client{Base: "https://example.com"}).Publish(context.Background(), []byte(`{"a":1,"a":2}`),
		""); evidence.ClassOf(err) != evidence.Validation {
		t.Errorf("a member twice: %v", err)
	}
}

// A registry that does not answer, or does not come to an end, is given up.
func TestClientPatience(t *testing.T) {
	ctx := context.Background()
	silent := func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body) // then a server sees that the client has gone
		<-r.Context().Done()
	}
	drip := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for r.Context().Err() == nil {
			fmt.Fprint(w, " ")
			http.NewResponseController(w).Flush()
			time.Sleep(5 * time.Millisecond)
		}
	}
	var pages atomic.Int64
	paging := func(w http.ResponseWriter, r *http.Request) {
		n := pages.Add(1)
		time.Sleep(20 * time.Millisecond)
		say(200, "application/json",
			fmt.Sprintf(`{"servers":[{"server":{"name":"io.github.o/a"}}],"metadata":{"nextCursor":"%d"}}`, n))(w, r)
	}
	for name, c := range map[string]struct {
		handle http.HandlerFunc
		call   func(*Client) error
	}{
		"no answer":    {silent, func(c *Client) error { _, err := c.About(ctx); return err }},
		"no end":       {drip, func(c *Client) error { _, err := c.Get(ctx, "io.github.o/a", "1.0.0"); return err }},
		"publish":      {silent, func(c *Client) error { _, err := c.Publish(ctx, []byte(`{}`), ""); return err }},
		"pages, slow":  {paging, func(c *Client) error { _, err := c.Versions(ctx, "io.github.o/a"); return err }},
		"pages, a few": {drip, func(c *Client) error { _, err := c.Versions(ctx, "io.github.o/a"); return err }},
	} {
		client := answer(t, c.handle)
		client.timeout = 200 * time.Millisecond
		hang.Ends(t, name, func() { // also of the pages, which have no end and together the time of one call
			if err := c.call(client); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	var c Client
	if c.wait("/version") != callTimeout || c.wait(publishPath) != publishTimeout ||
		publishTimeout <= registry.DefaultTimeout {
		t.Errorf("waits %v, and %v for a publish", c.wait("/version"), c.wait(publishPath))
	}
	for path, want := range map[string]*http.Transport{"/version": calls, publishPath: publishes} {
		if got := c.client(path).Transport; got != want || want.ResponseHeaderTimeout <= 0 ||
			want.ResponseHeaderTimeout > c.wait(path) {
			t.Errorf("%s goes through %v", path, got)
		}
	}
	own := &http.Transport{}
	if got := (&Client{HTTP: &http.Client{Transport: own}}).client("/version"); got.Transport != own ||
		got.CheckRedirect == nil {
		t.Error("the caller's transport is not used")
	}
}

func TestEachVersion(t *testing.T) {
	ctx := context.Background()
	asked := 0
	page := func(records int, size int) http.HandlerFunc {
		server := strings.Repeat(" ", size) + `{"server":{"name":"io.github.o/a"}}`
		servers := strings.TrimSuffix(strings.Repeat(server+",", records), ",")
		return func(w http.ResponseWriter, r *http.Request) {
			asked++
			say(200, "application/json",
				fmt.Sprintf(`{"servers":[%s],"metadata":{"nextCursor":"%d"}}`, servers, asked))(w, r)
		}
	}
	// It asks for no page that is not wanted.
	seen := 0
	err := answer(t, page(3, 0)).EachVersion(ctx, "io.github.o/a", func(registry.Envelope) (bool, error) {
		seen++
		return seen < 5, nil
	})
	if err != nil || seen != 5 || asked != 2 {
		t.Errorf("%d records of %d pages, %v", seen, asked, err)
	}
	stop := errors.New("stop")
	if err := answer(t, page(3, 0)).EachVersion(ctx, "io.github.o/a", func(registry.Envelope) (bool, error) {
		return true, stop
	}); err != stop {
		t.Errorf("error %v", err)
	}
	// Pages without end are too many records or too many bytes.
	asked, seen = 0, 0
	count := func(registry.Envelope) (bool, error) { seen++; return true, nil }
	if err := answer(t, page(1000, 0)).EachVersion(ctx, "io.github.o/a", count); err == nil ||
		!strings.Contains(err.Error(), "more than 10000 versions") || seen != registry.MaxVersions {
		t.Errorf("after %d records: %v", seen, err)
	}
	asked = 0
	if err := answer(t, page(1, 6<<20)).EachVersion(ctx, "io.github.o/a", count); err == nil ||
		!strings.Contains(err.Error(), "more than 67108864 bytes") || asked != 11 {
		t.Errorf("after %d pages: %v", asked, err)
	}
}
