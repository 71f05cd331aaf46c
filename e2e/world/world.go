package world

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/internal/registry/registrytest"
)

// World is the outside as a test makes it: a DNS server, and one https server on a
// loopback port for every host name that the test uses, under an authority of its own.
type World struct {
	DNS  *registrytest.DNSServer
	CA   string // file with the authority's certificate
	Port string // of the https server

	authority    *x509.Certificate
	authorityKey *ecdsa.PrivateKey

	mu    sync.Mutex
	hosts map[string]http.Handler
	asked map[string][]string // paths by host
}

// New makes a world that ends with the test.
func New(t *testing.T) *World {
	t.Helper()
	w := &World{DNS: registrytest.StartDNS(t), hosts: map[string]http.Handler{}, asked: map[string][]string{}}
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
func (w *World) Host(name string, h http.HandlerFunc) {
	w.DNS.Host(name, "127.0.0.1")
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hosts[name] = h
}

// Certificate writes a certificate for a host name and its key into files.
func (w *World) Certificate(t *testing.T, name string) (certFile, keyFile string) {
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
func (w *World) Asked(name string) []string {
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
