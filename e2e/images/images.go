// Package images starts a real image registry for tests: the program that Debian calls
// docker-registry, with files in a temporary directory, over TLS on a loopback port.
package images

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/e2e/hang"
)

// ErrMissing says that the program is not installed.
var ErrMissing = errors.New("docker-registry is not installed (e2e/prerequisites.sh installs it)")

// The credentials of a private registry, and its file of users, which is bcrypt.
const (
	User     = "hallmark"
	Password = "hallmark-images"
	users    = "hallmark:$2y$04$JJH452iB9CY9D3QWjRTKFON2dRxw855//o3WIg0qXBPxU1KupYBAa"
)

// Server is one running registry. Its certificate must be for localhost.
type Server struct {
	Host  string // localhost:PORT, as image names begin
	Roots *x509.CertPool

	dir string
	cmd *exec.Cmd
	out bytes.Buffer
}

// Options say how a registry is reached and by whom.
type Options struct {
	Certificate, Key string // files, PEM
	Authority        string // file, PEM: who signed the certificate
	Private          bool   // asks for User and Password
}

// Create starts a registry without images.
func Create(o Options) (*Server, error) {
	program, err := exec.LookPath("docker-registry")
	if err != nil {
		return nil, ErrMissing
	}
	roots := x509.NewCertPool()
	if text, err := os.ReadFile(o.Authority); err != nil || !roots.AppendCertsFromPEM(text) {
		return nil, errors.Join(errors.New("images: no authority"), err)
	}
	dir, err := os.MkdirTemp("", "images")
	if err != nil {
		return nil, err
	}
	s := &Server{Roots: roots, dir: dir}
	if err := s.start(program, o); err != nil {
		return nil, errors.Join(err, s.Close(), errors.New(s.out.String()))
	}
	return s, nil
}

func (s *Server) start(program string, o Options) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	addr := l.Addr().String()
	if err := l.Close(); err != nil {
		return err
	}
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return err
	}
	s.Host = "localhost:" + port
	var config strings.Builder
	fmt.Fprintf(&config, "version: 0.1\nlog: {level: warn, accesslog: {disabled: true}}\n")
	fmt.Fprintf(&config, "storage: {filesystem: {rootdirectory: %q}}\n", filepath.Join(s.dir, "data"))
	fmt.Fprintf(&config, "http: {addr: %q, tls: {certificate: %q, key: %q}}\n", addr, o.Certificate, o.Key)
	if o.Private {
		file := filepath.Join(s.dir, "users")
		if err := os.WriteFile(file, []byte(users+"\n"), 0o600); err != nil {
			return err
		}
		fmt.Fprintf(&config, "auth: {htpasswd: {realm: images, path: %q}}\n", file)
	}
	file := filepath.Join(s.dir, "config.yml")
	if err := os.WriteFile(file, []byte(config.String()), 0o600); err != nil {
		return err
	}
	s.cmd = exec.Command(program, "serve", file)
	s.cmd.Stdout, s.cmd.Stderr = &s.out, &s.out
	s.cmd.Env = append(os.Environ(), "OTEL_TRACES_EXPORTER=none")
	if err := s.cmd.Start(); err != nil {
		s.cmd = nil
		return err
	}
	client := &http.Client{Transport: s.Transport(), Timeout: hang.Long}
	defer client.CloseIdleConnections()
	for end := time.Now().Add(hang.Long); ; time.Sleep(20 * time.Millisecond) {
		answer, err := client.Get("https://" + s.Host + "/v2/")
		if err == nil {
			return answer.Body.Close()
		}
		if time.Now().After(end) {
			return fmt.Errorf("docker-registry does not answer: %w", err)
		}
	}
}

// Transport trusts the registry and nobody else.
func (s *Server) Transport() *http.Transport {
	return &http.Transport{TLSClientConfig: &tls.Config{RootCAs: s.Roots}}
}

// Close ends the registry and removes its images.
func (s *Server) Close() error {
	var err error
	if s.cmd != nil {
		err = s.cmd.Process.Kill()
		s.cmd.Wait() // the status comes from the kill
	}
	return errors.Join(err, os.RemoveAll(s.dir))
}

// ForTest returns a registry that ends with the test. Where the program is not
// installed the test is skipped, and fails under CI=true.
func ForTest(t testing.TB, o Options) *Server {
	t.Helper()
	s, err := Create(o)
	if errors.Is(err, ErrMissing) && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}
