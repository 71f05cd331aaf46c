package fetch

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"errors"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/e2e/hang"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/fetch/userconfig"
	"github.com/hallmark-mcp/hallmark/internal/foreign"
	"github.com/hallmark-mcp/hallmark/internal/wire"
)

// authority signs certificates for localhost and 127.0.0.1.
var authority = sync.OnceValues(func() (tls.Certificate, *x509.CertPool) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	now := time.Now()
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, &key.PublicKey, key)
	if err != nil {
		panic(err)
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "test host"},
		NotBefore: ca.NotBefore, NotAfter: ca.NotAfter,
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage: x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, ca, &key.PublicKey, key)
	if err != nil {
		panic(err)
	}
	parsed, err := x509.ParseCertificate(caDER)
	if err != nil {
		panic(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	parsedLeaf, err := x509.ParseCertificate(der)
	if err != nil {
		panic(err)
	}
	return tls.Certificate{Certificate: [][]byte{der, caDER}, PrivateKey: key, Leaf: parsedLeaf}, pool
})

// serve starts a TLS server on loopback and returns its "https://127.0.0.1:port".
func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	cert, _ := authority()
	s := httptest.NewUnstartedServer(h)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.URL
}

// begin starts a program: with the first one package foreign begins what it keeps running.
var begin = sync.OnceFunc(func() {
	if self, err := os.Executable(); err == nil {
		foreign.Run(context.Background(),
			foreign.Call{Tool: foreign.Sealed, Path: self, Args: []string{"-test.run=^$"}, Dir: os.TempDir(),
				Checkout: foreign.FindCheckout(".", "")})
	}
})

// testConfig is quickConfig, and checks at the end of the test that no goroutine is left.
// Call it before serve.
func testConfig(t *testing.T) Config {
	t.Helper()
	authority()
	begin()
	goroutines := runtime.NumGoroutine()
	config := quickConfig(t)
	t.Cleanup(func() {
		for end := time.Now().Add(hang.Long); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			if runtime.NumGoroutine() <= goroutines {
				return
			}
		}
		buf := make([]byte, 64<<10)
		t.Errorf("%d goroutines are left, %d at the beginning\n%s", runtime.NumGoroutine(), goroutines,
			buf[:runtime.Stack(buf, true)])
	})
	return config
}

// quickConfig trusts the test authority, retries quickly, and checks at the end of the test
// that no file is left.
func quickConfig(t *testing.T) Config {
	t.Helper()
	_, pool := authority()
	dir := t.TempDir()
	t.Cleanup(func() {
		left, err := os.ReadDir(dir)
		if err != nil {
			t.Error(err)
		}
		for _, f := range left {
			t.Errorf("left behind: %s", f.Name())
		}
	})
	return Config{
		Dir:     dir,
		RootCAs: pool,
		AnyHost: true, // who asks is the tests' own; see hostuse_test.go for the others
		Limits: Limits{Backoff: time.Millisecond, BackoffMax: 20 * time.Millisecond, Stall: hang.Long,
			FileTime: hang.Long},
	}
}

func newClient(t *testing.T, config Config) *Client {
	t.Helper()
	c := New(config)
	t.Cleanup(c.CloseIdleConnections)
	return c
}

func mustRef(t *testing.T, s string) artifact.Ref {
	t.Helper()
	ref, err := artifact.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

// wantBody checks that d is body, on disk and by its digest, and removes it.
func wantBody(t *testing.T, d *Download, err error, body string) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	f, err := d.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != body {
		t.Errorf("%d bytes on disk differ from the %d served", len(got), len(body))
	}
	sum := sha256.Sum256([]byte(body))
	if hex.EncodeToString(sum[:]) != d.Observed.SHA256().Hex() {
		t.Errorf("sha256 %s is not that of the body", d.Observed.SHA256())
	}
	if d.Observed.Size != int64(len(body)) {
		t.Errorf("size %d, not %d", d.Observed.Size, len(body))
	}
	if info, err := os.Stat(d.Path()); err != nil || info.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows" {
		t.Errorf("mode of the staging file: %v %v", info.Mode(), err)
	}
}

// wantError checks the cause of err and that its text has each of parts.
func wantError(t *testing.T, err error, cause evidence.Cause, parts ...string) *wire.Error {
	t.Helper()
	var e *wire.Error
	if !errors.As(err, &e) {
		t.Fatalf("error is %v, not an *wire.Error", err)
	}
	if e.Cause != cause {
		t.Errorf("cause %s, not %s: %v", e.Cause, cause, err)
	}
	for _, p := range append(parts, wire.Name(e.Ref)) {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("%q does not mention %q", err, p)
		}
	}
	return e
}

// hijack takes the connection over and hands it to f, which writes the reply.
func hijack(t *testing.T, w http.ResponseWriter, f func(net.Conn)) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		t.Error(err)
		return
	}
	defer conn.Close()
	f(conn)
}

// reset makes the peer see a reset in place of an orderly end.
func reset(conn net.Conn) {
	conn.(*tls.Conn).NetConn().(*net.TCPConn).SetLinger(0)
	conn.(*tls.Conn).NetConn().Close()
}

func get(t *testing.T, c *Client, ref string) (*Download, error) {
	t.Helper()
	return c.Fetch(context.Background(), mustRef(t, ref))
}

// site serves pages by their escaped path, with what its base URL is in place of
// BASE, and notes each request with its Authorization header.
type site struct {
	base  string
	pages map[string]string
	kinds map[string]string // Content-Type by path

	mu  sync.Mutex
	log []string // "path" or "path <- header"
}

func newSite(t *testing.T, pages map[string]string) *site {
	s := &site{pages: pages, kinds: make(map[string]string)}
	s.base = serve(t, func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		entry := r.URL.EscapedPath()
		if h := r.Header.Get("Authorization"); h != "" {
			entry += " <- " + h
		}
		s.log = append(s.log, entry)
		page, ok := s.pages[r.URL.EscapedPath()]
		if !ok {
			w.WriteHeader(404)
			return
		}
		if status, err := strconv.Atoi(page); err == nil {
			w.WriteHeader(status)
			return
		}
		page = strings.ReplaceAll(page, "BASE", s.base)
		if to, ok := strings.CutPrefix(page, "-> "); ok {
			http.Redirect(w, r, to, http.StatusFound)
			return
		}
		kind := s.kinds[r.URL.EscapedPath()]
		if encoding, ok := strings.CutPrefix(kind, "encoded "); ok {
			w.Header().Set("Content-Encoding", encoding)
			kind = ""
		}
		if kind != "" {
			w.Header().Set("Content-Type", kind)
		}
		io.WriteString(w, page)
	})
	return s
}

// host is the site's host and port.
func (s *site) host() string { return strings.TrimPrefix(s.base, "https://") }

// requests is the log since it was last asked for.
func (s *site) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	log := s.log
	s.log = nil
	return log
}

func sha(body string) string {
	sum := sha256.Sum256([]byte(body))
	return hex.EncodeToString(sum[:])
}

// outcomes compares what the registry claims of d with d, and closes it.
func outcomes(t *testing.T, d *Download, err error) []evidence.Outcome {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	var all []evidence.Outcome
	for _, c := range d.Claims {
		if c.Subject != d.Ref.String() || c.Scheme != evidence.File ||
			c.Authority != evidence.Registry || c.Where == "" {
			t.Errorf("claim %+v", c)
		}
		all = append(all, evidence.Compare(c, d.Observed).Outcome)
	}
	for _, e := range d.Unverifiable {
		all = append(all, e.Outcome)
	}
	return all
}

func environment(m map[string]string) func(string) string {
	return func(key string) string { return m[key] }
}

// readUserConfig is [UserConfig] with what the files of all tools say, as if each had been asked.
func readUserConfig(env func(string) string, projectDir, home string) (Config, error) {
	config := UserConfig(env, projectDir, home)
	user := config.user
	user.Ignored, config.user = new(userconfig.IgnoredSettings), nil
	for _, e := range ecosystems {
		if err := e.configure(&config, user); err != nil {
			return config, err
		}
	}
	config.named, config.ignored, config.warnings = user.Named, user.Ignored, user.Warnings
	return config, nil
}
