package fetch

import (
	"context"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/fetch/transfer"
)

func TestRedirects(t *testing.T) {
	config := testConfig(t)
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.Error("a request was sent over plain http")
	}))
	defer plain.Close()
	var requests atomic.Int32
	base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		if r.Header.Get("Referer") != "" || r.Header.Get("Cookie") != "" {
			t.Errorf("headers %v", r.Header)
		}
		to, status := "", http.StatusFound
		var n int
		switch p := r.URL.Path; {
		case p == "/f":
			io.WriteString(w, "fine")
			return
		case p == "/303":
			to, status = "/f", http.StatusSeeOther
		case p == "/308":
			to, status = "f", http.StatusPermanentRedirect
		case p == "/300":
			to, status = "/f", http.StatusMultipleChoices
		case p == "/a":
			to = "/b?key=secret"
		case p == "/b":
			to = "/a"
		case p == "/self":
			to = "/self#x"
		case p == "/http":
			to = plain.URL + "/f?key=secret"
		case p == "/ftp":
			to = "ftp://files.example.com/f"
		case p == "/file":
			to = "file:///etc/passwd"
		case p == "/userinfo":
			to = "https://user:secret@" + r.Host + "/f"
		case p == "/nohost":
			to = "https:///f"
		case p == "/bad":
			to = "https://[secret"
		case p == "/none":
			w.WriteHeader(http.StatusFound)
			return
		default:
			if _, err := fmt.Sscanf(p, "/chain/%d", &n); err != nil {
				w.WriteHeader(404)
				return
			}
			to = fmt.Sprintf("/chain/%d", n-1)
			if n == 1 {
				to = "/f"
			}
		}
		w.Header().Set("Location", to)
		w.Header().Set("Set-Cookie", "a=b")
		w.Header().Set("Content-Length", "0")
		w.WriteHeader(status)
	})
	c := newClient(t, config)
	for _, path := range []string{"/f", "/303", "/308", "/chain/1", "/chain/5"} {
		d, err := get(t, c, base+path)
		wantBody(t, d, err, "fine")
		if d.Observed.From != base+path {
			t.Errorf("from %s", d.Observed.From)
		}
	}
	for _, tt := range []struct {
		path     string
		cause    evidence.Cause
		requests int32
		parts    []string
	}{
		{"/chain/6", evidence.Unsupported, 6, []string{"more than 5 redirects", base + "/f"}},
		{"/chain/99", evidence.Unsupported, 6, []string{"more than 5 redirects"}},
		{"/a", evidence.Unsupported, 2, []string{"redirect loop: " + base + "/a -> " + base + "/b -> " + base + "/a"}},
		{"/self", evidence.Unsupported, 1, []string{"redirect loop: " + base + "/self -> " + base + "/self"}},
		{"/http", evidence.Unsupported, 1, []string{"plain http is refused", plain.URL + "/f"}},
		{"/ftp", evidence.Unsupported, 1, []string{`"ftp"`}},
		{"/file", evidence.Unsupported, 1, []string{`"file"`}},
		{"/userinfo", evidence.Unsupported, 1, []string{"user name or password"}},
		{"/nohost", evidence.Unsupported, 1, []string{"no host"}},
		{"/bad", evidence.Unsupported, 1, []string{"no URL"}},
		{"/none", evidence.Unreachable, 1, []string{"302 without a Location"}},
		{"/300", evidence.Unreachable, 1, []string{"answered 300"}},
	} {
		requests.Store(0)
		_, err := get(t, c, base+tt.path)
		wantError(t, err, tt.cause, tt.parts...)
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", tt.path, err)
		}
		if requests.Load() != tt.requests {
			t.Errorf("%s: %d requests, not %d", tt.path, requests.Load(), tt.requests)
		}
	}

	config.Limits.Redirects = -1
	_, err := get(t, newClient(t, config), base+"/chain/1")
	wantError(t, err, evidence.Unsupported, "more than 0 redirects")
}

// TestCertificates: a host whose certificate neither the system nor the configuration trusts is
// sent nothing, and not tried again.
func TestCertificates(t *testing.T) {
	config := testConfig(t)
	var connections atomic.Int32
	base := serve(t, func(w http.ResponseWriter, r *http.Request) { t.Error("a request was sent") })
	config.AllowAddr = func(string, netip.Addr) error { connections.Add(1); return nil }
	config.RootCAs = x509.NewCertPool()
	_, err := get(t, newClient(t, config), base+"/f")
	e := wantError(t, err, evidence.Unreachable, "certificate")
	if connections.Load() != 1 || !strings.Contains(e.Hint, "cafile") {
		t.Errorf("%d connections, hint %q", connections.Load(), e.Hint)
	}
	config.RootCAs = nil // the system's
	_, err = get(t, newClient(t, config), base+"/f")
	wantError(t, err, evidence.Unreachable, "certificate")

	_, config.RootCAs = authority()
	config.AllowAddr = nil
	far := config
	far.dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, strings.TrimPrefix(base, "https://"))
	}
	_, err = get(t, newClient(t, far), "https://files.example.com/f") // the certificate is for another host
	wantError(t, err, evidence.Unreachable, "certificate", "files.example.com")
	c := newClient(t, config)

	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	_, err = get(t, c, "https"+strings.TrimPrefix(plain.URL, "http")+"/f")
	wantError(t, err, evidence.Unreachable, "does not speak TLS")
}

// TestAddresses: the check sees the address of each connection, also of redirects, under any
// name of the host.
func TestAddresses(t *testing.T) {
	config := testConfig(t)
	inner := serve(t, func(w http.ResponseWriter, r *http.Request) {
		t.Error("a request was sent to a refused address")
	})
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(inner, "https://"))
	outer := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if to := r.URL.Query().Get("to"); to != "" {
			http.Redirect(w, r, "https://"+to+":"+port+"/f", http.StatusFound)
			return
		}
		io.WriteString(w, "fine")
	})
	outer = strings.Replace(outer, "127.0.0.1", "localhost", 1)

	server := ServerConfig()
	server.Dir, server.RootCAs, server.Limits = config.Dir, config.RootCAs, config.Limits
	_, err := get(t, newClient(t, server), outer+"/f")
	wantError(t, err, evidence.Unsupported, "connection to localhost refused", "not a public address")
	var asked atomic.Int32
	server.AllowAddr = func(host string, addr netip.Addr) error {
		asked.Add(1)
		return transfer.RefusePrivate()(host, addr)
	}
	_, err = get(t, newClient(t, server), inner+"/f")
	wantError(t, err, evidence.Unsupported, "is not a public address")
	if asked.Load() != 1 {
		t.Errorf("%d connections were tried", asked.Load())
	}

	server.AllowAddr = transfer.RefusePrivate("localhost")
	c := newClient(t, server)
	d, err := get(t, c, outer+"/f")
	wantBody(t, d, err, "fine")
	for _, host := range []string{"127.0.0.1", "[::ffff:127.0.0.1]", "[::1]", "0.0.0.0", "[::]", "127.1.2.3"} {
		_, err = get(t, c, outer+"/f?to="+url.QueryEscape(host))
		wantError(t, err, evidence.Unsupported, "is not a public address")
	}
}

func TestUnreachable(t *testing.T) {
	config := testConfig(t)
	config.Limits.Retries = 1
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	base := "https://" + l.Addr().String()
	l.Close()
	_, err = get(t, newClient(t, config), base+"/f")
	e := wantError(t, err, evidence.Unreachable, "2 attempts")
	if e.Status != 0 {
		t.Errorf("status %d", e.Status)
	}
}

// TestHeadersAreBounded: a server cannot make us read headers without end.
func TestHeadersAreBounded(t *testing.T) {
	config := testConfig(t)
	config.Limits.Retries = -1
	base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Long", strings.Repeat("x", 200<<10))
		io.WriteString(w, "fine")
	})
	_, err := get(t, newClient(t, config), base+"/f")
	wantError(t, err, evidence.Unreachable, "headers")
}

// TestProxy: requests go through the proxy that is configured, as a tunnel.
func TestProxy(t *testing.T) {
	config := testConfig(t)
	var tunnels atomic.Int32
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect {
			t.Errorf("%s %s", r.Method, r.URL)
			return
		}
		tunnels.Add(1)
		to, err := net.Dial("tcp", r.Host)
		if err != nil {
			t.Error(err)
			return
		}
		defer to.Close()
		hijack(t, w, func(conn net.Conn) {
			io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n")
			go func() { io.Copy(to, conn); to.Close() }()
			io.Copy(conn, to)
		})
	}))
	defer proxy.Close()
	base := serve(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "fine") })
	config.Proxy = func(*url.URL) (*url.URL, error) { return url.Parse(proxy.URL) }
	c := newClient(t, config)
	d, err := get(t, c, base+"/f")
	wantBody(t, d, err, "fine")
	if tunnels.Load() != 1 {
		t.Errorf("%d tunnels", tunnels.Load())
	}
	c.CloseIdleConnections()
}
