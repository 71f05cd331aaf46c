package e2e

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/e2e/built"
	"github.com/hallmark-mcp/hallmark/internal/registry/dnstest"
)

// world is the outside as a test makes it: a DNS server, and one https server on a
// loopback port for every host name that the test uses, under an authority of its own.
type world struct {
	DNS  *dnstest.Server
	CA   string // file with the authority's certificate
	Port string // of the https server

	authority    *x509.Certificate
	authorityKey *ecdsa.PrivateKey

	mu    sync.Mutex
	hosts map[string]http.Handler
	asked map[string][]string // paths by host
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{DNS: dnstest.Start(t), hosts: map[string]http.Handler{}, asked: map[string][]string{}}
	ca, caKey := certificate(t, &x509.Certificate{
		Subject: pkix.Name{CommonName: "test"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign}, nil, nil)
	w.authority, w.authorityKey = ca, caKey
	w.CA = filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(w.CA, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca.Raw}), 0o600); err !=
		nil {
		t.Fatal(err)
	}
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		w.mu.Lock()
		w.asked[host] = append(w.asked[host], r.URL.Path)
		h := w.hosts[host]
		w.mu.Unlock()
		if h == nil {
			h = http.NotFoundHandler()
		}
		h.ServeHTTP(out, r)
	}))
	srv.TLS = &tls.Config{GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		leaf, key := certificate(t,
			&x509.Certificate{Subject: pkix.Name{CommonName: "test"}, DNSNames: []string{hello.ServerName}}, ca, caKey)
		return &tls.Certificate{Certificate: [][]byte{leaf.Raw}, PrivateKey: key}, nil
	}}
	srv.StartTLS()
	t.Cleanup(srv.Close)
	_, w.Port, _ = net.SplitHostPort(srv.Listener.Addr().String())
	return w
}

// Host lets a name resolve to this machine and answers for it.
func (w *world) Host(name string, h http.HandlerFunc) {
	w.DNS.Host(name, "127.0.0.1")
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hosts[name] = h
}

// Certificate writes a certificate for a host name and its key into files.
func (w *world) Certificate(t *testing.T, name string) (certFile, keyFile string) {
	t.Helper()
	leaf, key := certificate(t, &x509.Certificate{Subject: pkix.Name{CommonName: "test"}, DNSNames: []string{name}},
		w.authority, w.authorityKey)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for file, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: leaf.Raw},
		keyFile: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certFile, keyFile
}

// Asked lists the paths that a host was asked for.
func (w *world) Asked(name string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string(nil), w.asked[name]...)
}

// certificate makes a certificate; without a parent it signs itself.
func certificate(t *testing.T, c, parent *x509.Certificate, parentKey *ecdsa.PrivateKey) (*x509.Certificate,
	*ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c.SerialNumber = big.NewInt(time.Now().UnixNano())
	c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	if parent == nil {
		parent, parentKey = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, parentKey)
	if err != nil {
		t.Fatal(err)
	}
	out, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return out, key
}

// build gives one of this module's commands.
func build(t *testing.T, command string) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), command)
	built.Into(t, bin, "cmd/"+command)
	return bin
}

var listening = regexp.MustCompile(`registry at (http://[^,\s]+)`)

// registryProcess is a registry that runs as a process of its own.
type registryProcess struct {
	URL string
	cmd *exec.Cmd

	mu  sync.Mutex
	log strings.Builder
}

// Log is what it has printed.
func (p *registryProcess) Log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

// startRegistry runs "hallmark-registry serve" with args until the test ends.
func startRegistry(t *testing.T, args ...string) *registryProcess {
	t.Helper()
	bin := build(t, "hallmark-registry")
	p := new(registryProcess)
	p.cmd = exec.Command(bin, append([]string{"serve", "--addr", "127.0.0.1:0"}, args...)...)
	out, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ready, ended := make(chan string, 1), make(chan struct{})
	go func() {
		defer close(ended)
		lines := bufio.NewReader(out)
		for {
			line, err := lines.ReadString('\n')
			p.mu.Lock()
			p.log.WriteString(line)
			p.mu.Unlock()
			if m := listening.FindStringSubmatch(line); m != nil {
				ready <- m[1]
			}
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		p.cmd.Process.Signal(os.Interrupt)
		kill := time.AfterFunc(time.Minute, func() { p.cmd.Process.Kill() })
		<-ended
		p.cmd.Wait()
		kill.Stop()
		if t.Failed() {
			t.Logf("registry:\n%s", p.Log())
		}
	})
	select {
	case p.URL = <-ready:
	case <-ended:
		t.Fatalf("the registry ended:\n%s", p.Log())
	case <-time.After(time.Minute):
		t.Fatal("the registry does not listen")
	}
	return p
}

// get reads a URL of a registry.
func get(t *testing.T, url string) (int, []byte) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, body
}
