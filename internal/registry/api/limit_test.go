package api_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/e2e/hang"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/api"
	"github.com/hallmark-mcp/hallmark/internal/registry/registrytest"
	"github.com/hallmark-mcp/hallmark/internal/registry/servertest"
	"github.com/hallmark-mcp/hallmark/serverjson"
)

func TestRequestRate(t *testing.T) {
	f := servertest.Serve(t, nil, func(c *api.Config) {
		c.Limits.Requests = api.Rate{PerSecond: 0.01, Burst: 2}
		c.Limits.Proxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	})
	ask := func(from string) *http.Response {
		res, _ := registrytest.Send(t, "GET", f.URL+"/v0/ping", "", "X-Forwarded-For", from)
		return res
	}
	for range 2 {
		if res := ask("192.0.2.1"); res.StatusCode != 200 {
			t.Errorf("%d", res.StatusCode)
		}
	}
	res := ask("192.0.2.1")
	if res.StatusCode != 429 || res.Header.Get("Retry-After") != "100" ||
		res.Header.Get("Content-Type") != registry.ProblemType {
		t.Errorf("%d, Retry-After %q", res.StatusCode, res.Header.Get("Retry-After"))
	}
	if res := ask("192.0.2.2"); res.StatusCode != 200 {
		t.Errorf("another address: %d", res.StatusCode)
	}
	if f.Counters.Limited.Load() != 1 {
		t.Error("not counted")
	}
}

// A new login does not fill the bucket of who logs in.
func TestWriteRate(t *testing.T) {
	f := servertest.Serve(t, nil, func(c *api.Config) {
		c.Limits.Writes = api.Rate{PerSecond: 0.001, Burst: 2}
		loginWithNone(t, c)
	})
	ctx := context.Background()
	doc := registrytest.Document("io.github.o/notes", "1.0.0")
	for i := range 3 {
		s, err := f.Login(ctx, registry.MethodNone, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.Publish(ctx, doc, s.Token)
		if i < 2 {
			registrytest.WantProblem(t, err, 403)
		} else if p := registrytest.WantProblem(t, err, 429, "of this token"); p.RetryAfter == 0 {
			t.Error("no Retry-After")
		}
	}
	_, err := f.Publish(ctx, doc, servertest.NewToken(t, f, "a.b/*"))
	registrytest.WantProblem(t, err, 403) // another bearer
}

// loginWithNone lets everybody log in without a proof.
func loginWithNone(t *testing.T, c *api.Config) {
	t.Helper()
	var err error
	if c.Issuer, err = api.NewIssuer([]byte(strings.Repeat("k", 32))); err != nil {
		t.Fatal(err)
	}
	c.Logins = append(c.Logins, registry.MethodNone)
	if c.Outside.HTTP == nil {
		c.Outside.HTTP = http.DefaultClient
		c.Outside.LookupTXT = func(context.Context, string) ([]string, error) { return nil, nil }
	}
}

// blocked is a check that waits, and says when it has begun.
func blocked(
	t *testing.T,
) (check func(context.Context, *serverjson.Document) (evidence.Report, error), begun chan struct{}, end func()) {
	begun = make(chan struct{}, 100)
	release := make(chan struct{})
	end = sync.OnceFunc(func() { close(release) })
	t.Cleanup(end)
	return func(ctx context.Context, _ *serverjson.Document) (evidence.Report, error) {
		begun <- struct{}{}
		select {
		case <-release:
		case <-ctx.Done():
		}
		return evidence.Report{registrytest.Matching(registrytest.NpmID)}, ctx.Err()
	}, begun, end
}

func TestChecksAtOnce(t *testing.T) {
	check, begun, end := blocked(t)
	f := servertest.Serve(t, nil, func(c *api.Config) {
		c.Check = check
		c.Limits.Checks, c.Limits.CheckWait = 2, 50*time.Millisecond
	})
	ctx := context.Background()
	var wait sync.WaitGroup
	for i := range 2 {
		wait.Go(func() {
			if _, err := f.Publish(ctx, registrytest.Document("io.github.o/notes", fmt.Sprintf("1.0.%d", i)),
				""); err != nil {
				t.Error(err)
			}
		})
	}
	<-begun
	<-begun
	_, err := f.Publish(ctx, registrytest.Document("io.github.o/notes", "1.0.2"), "")
	if p := registrytest.WantProblem(t, err, 503, "being checked"); p.RetryAfter == 0 {
		t.Error("no Retry-After")
	}
	// Nobody else waits for them.
	if _, err := f.List(ctx, registry.Query{}); err != nil {
		t.Error(err)
	}
	end()
	wait.Wait()
	if _, err := f.Publish(ctx, registrytest.Document("io.github.o/notes", "1.0.2"), ""); err != nil {
		t.Error(err)
	}
}

// One publisher cannot have all places: the others go on, and it is told so.
func TestChecksOfOnePublisher(t *testing.T) {
	check, begun, end := blocked(t)
	f := servertest.Serve(t, nil, func(c *api.Config) {
		c.Check = func(ctx context.Context, doc *serverjson.Document) (evidence.Report, error) {
			if doc.Name != "io.github.slow/notes" {
				return evidence.Report{registrytest.Matching(registrytest.NpmID)}, nil
			}
			return check(ctx, doc)
		}
		c.AllowAnonymous = false
		c.Limits.Checks, c.Limits.EachChecks, c.Limits.CheckWait = 3, 2, 50*time.Millisecond
	})
	ctx := context.Background()
	tokens := map[string]string{"slow": servertest.NewToken(t, f, "io.github.slow/*"),
		"other": servertest.NewToken(t, f, "io.github.other/*")}
	publish := func(name, version string) error {
		_, err := f.Publish(ctx, registrytest.Document("io.github."+name+"/notes", version), tokens[name])
		return err
	}
	var wait sync.WaitGroup
	for i := range 2 {
		wait.Go(func() {
			if err := publish("slow", fmt.Sprintf("1.0.%d", i)); err != nil {
				t.Error(err)
			}
		})
	}
	<-begun
	<-begun
	if p := registrytest.WantProblem(t, publish("slow", "1.0.2"), 429, "of this publisher"); p.RetryAfter == 0 {
		t.Error("no Retry-After")
	}
	if err := publish("other", "1.0.0"); err != nil {
		t.Errorf("another publisher: %v", err)
	}
	end()
	wait.Wait()
	if err := publish("slow", "1.0.2"); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

func TestBytesInFlight(t *testing.T) {
	check, begun, end := blocked(t)
	doc := registrytest.Document("io.github.o/notes", "1.0.0")
	f := servertest.Serve(t, nil, func(c *api.Config) {
		c.Check = check
		c.Limits.Bytes = int64(len(doc)) + 10
	})
	ctx := context.Background()
	done := make(chan error)
	go func() {
		_, err := f.Publish(ctx, doc, "")
		done <- err
	}()
	<-begun
	_, err := f.Publish(ctx, registrytest.Document("io.github.o/notes", "1.0.1"), "")
	if p := registrytest.WantProblem(t, err, 503, "at once"); p.RetryAfter == 0 {
		t.Error("no Retry-After")
	}
	if _, err := f.List(ctx, registry.Query{}); err != nil {
		t.Error(err)
	}
	end()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, err := f.Publish(ctx, registrytest.Document("io.github.o/notes", "1.0.1"), ""); err != nil {
		t.Errorf("after it: %v", err)
	}
}

// Who announces a large body and sends little of it takes no room from others, and what
// has come is counted as long as it is there.
func TestAnnouncedBodies(t *testing.T) {
	doc := registrytest.Document("io.github.o/notes", "1.0.0")
	f := servertest.Serve(t, nil, func(c *api.Config) { c.Limits.Bytes = int64(len(doc)) + 1000 })
	slow := func(body string) net.Conn {
		t.Helper()
		conn, err := net.Dial("tcp", strings.TrimPrefix(f.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		fmt.Fprintf(conn,
			"POST /v0/validate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n"+
				"\r\n%s", body)
		return conn
	}
	try := func(want int, before ...func()) {
		t.Helper()
		for end := time.Now().Add(hang.Long); ; time.Sleep(10 * time.Millisecond) {
			for _, f := range before {
				f()
			}
			res, _ := registrytest.Send(t, "POST", f.URL+"/v0/validate", string(doc), "Content-Type",
				"application/json")
			if res.StatusCode == want {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("%d, want %d", res.StatusCode, want)
			}
		}
	}
	for range 20 {
		slow("{")
	}
	time.Sleep(50 * time.Millisecond)
	try(200)
	// One too many beside the document, with the others or without. It is refused itself where
	// it comes while the document is there, and then sent again.
	var full []net.Conn
	try(503, func() { full = append(full, slow(strings.Repeat(" ", 1001))) })
	for _, conn := range full {
		conn.Close()
	}
	try(200)
}

// One address cannot fill the room for bodies: it is told so, and others go on.
func TestBodiesOfOneAddress(t *testing.T) {
	doc := registrytest.Document("io.github.o/notes", "1.0.0")
	f := servertest.Serve(t, nil, func(c *api.Config) {
		c.Limits.Bytes, c.Limits.EachBytes = 4*int64(len(doc)), 2*int64(len(doc))
		c.Limits.Proxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	})
	slow := func(from string) net.Conn {
		t.Helper()
		conn, err := net.Dial("tcp", strings.TrimPrefix(f.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		fmt.Fprintf(conn,
			"POST /v0/validate HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: %s\r\nContent-Type: application/json\r\n"+
				"Content-Length: 1000000\r\n\r\n%s", from, doc[:len(doc)-1])
		return conn
	}
	try := func(from string, want int, before ...func()) {
		t.Helper()
		for end := time.Now().Add(hang.Long); ; time.Sleep(10 * time.Millisecond) {
			for _, f := range before {
				f()
			}
			res, _ := registrytest.Send(t, "POST", f.URL+"/v0/validate", string(doc), "Content-Type",
				"application/json", "X-Forwarded-For", from)
			if res.StatusCode == want {
				if (want == 200) == (res.Header.Get("Retry-After") != "") {
					t.Errorf("%d, Retry-After %q", want, res.Header.Get("Retry-After"))
				}
				return
			}
			if time.Now().After(end) {
				t.Fatalf("%s: %d, want %d", from, res.StatusCode, want)
			}
		}
	}
	// What comes while a document is there may be refused itself, and is then sent again.
	var first []net.Conn
	try("192.0.2.1", 429, func() { first = append(first, slow("192.0.2.1")) })
	for range 6 { // which are refused
		first = append(first, slow("192.0.2.1"))
	}
	try("192.0.2.1", 429)
	try("192.0.2.2", 200)
	try("", 200)                   // this machine has no share
	try("192.0.2.4", 503, func() { // all of it is taken
		slow("192.0.2.2")
		slow("192.0.2.3")
	})
	for _, conn := range first {
		conn.Close()
	}
	try("192.0.2.1", 200)
}
