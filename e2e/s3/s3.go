// Package s3 starts a real S3 server for tests: versitygw, which keeps objects as
// files, on a port of this machine. It is built once into bin/ of this checkout.
package s3

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/e2e/hang"
)

const module = "github.com/versity/versitygw/cmd/versitygw@v1.8.0"

// The credentials of the server.
const (
	AccessKey = "hallmark-test"
	SecretKey = "hallmark-test-secret"
)

// Server is one S3 server.
type Server struct {
	Endpoint string // http://127.0.0.1:…
	dir      string
	argv     []string
	cmd      *exec.Cmd
	out      bytes.Buffer
}

// Program returns the path of versitygw, which it builds if need be: one minute and
// the Go module proxy.
func Program() (string, error) {
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return "", fmt.Errorf("no checkout to build versitygw in: %w", err)
	}
	bin := filepath.Join(strings.TrimSpace(string(root)), "bin")
	path := filepath.Join(bin, "versitygw")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	install := exec.Command("go", "install", module)
	// Installed by name and renamed: tests of several packages may do it at once.
	into, err := os.MkdirTemp("", "gobin")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(into)
	install.Env = append(os.Environ(), "GOBIN="+into, "CGO_ENABLED=0", "GOFLAGS=-trimpath")
	if out, err := install.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go install %s: %w\n%s", module, err, out)
	}
	built, err := os.ReadFile(filepath.Join(into, "versitygw"))
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return "", err
	}
	whole := filepath.Join(bin, fmt.Sprintf(".versitygw-%d", os.Getpid()))
	if err := os.WriteFile(whole, built, 0o755); err != nil {
		return "", err
	}
	return path, os.Rename(whole, path)
}

// Create starts a server with one empty bucket called "blobs".
func Create() (*Server, error) {
	program, err := Program()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "s3")
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir}
	if err := os.MkdirAll(filepath.Join(dir, "data", "blobs"), 0o755); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	addr := l.Addr().String()
	s.Endpoint = "http://" + addr
	if err := l.Close(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	// Without a side car directory it keeps what it knows of objects in extended
	// attributes, which not every file system has.
	side := filepath.Join(dir, "side")
	if err := os.Mkdir(side, 0o755); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.argv = []string{program, "--access", AccessKey, "--secret", SecretKey, "--port", addr, "--quiet",
		"posix", "--sidecar", side, filepath.Join(dir, "data")}
	if err := s.Start(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Start starts a server that is stopped, and waits until it answers.
func (s *Server) Start() error {
	s.cmd = exec.Command(s.argv[0], s.argv[1:]...)
	s.cmd.Stdout, s.cmd.Stderr = &s.out, &s.out
	s.cmd.Dir = s.dir
	if err := s.cmd.Start(); err != nil {
		s.cmd = nil
		return err
	}
	for end := time.Now().Add(hang.Long); ; time.Sleep(20 * time.Millisecond) {
		answer, err := http.Get(s.Endpoint)
		if err == nil {
			return answer.Body.Close()
		}
		if time.Now().After(end) {
			err = fmt.Errorf("versitygw does not answer: %w", err)
			return errors.Join(err, s.Stop(), errors.New(s.out.String()))
		}
	}
}

// Stop ends the server at once; Start brings it back with its objects.
func (s *Server) Stop() error {
	if s.cmd == nil {
		return nil
	}
	err := s.cmd.Process.Kill()
	s.cmd.Wait() // the status comes from the kill
	s.cmd = nil
	return err
}

// Close ends the server and removes its objects.
func (s *Server) Close() error { return errors.Join(s.Stop(), os.RemoveAll(s.dir)) }

// URL is the address of a prefix of the bucket, as --blobs takes it.
func (s *Server) URL(prefix string) string {
	return "s3://blobs/" + prefix + "?" +
		url.Values{"endpoint": {s.Endpoint}, "region": {"us-east-1"}, "path-style": {"true"}}.Encode()
}

// Environment is what a process needs to use the server.
func Environment() []string {
	return []string{"AWS_ACCESS_KEY_ID=" + AccessKey, "AWS_SECRET_ACCESS_KEY=" + SecretKey,
		"AWS_EC2_METADATA_DISABLED=true"}
}

// ForTest returns a server that ends with the test, and gives the test's process the
// credentials. Where it cannot be built the test is skipped, and fails under CI=true.
func ForTest(t testing.TB) *Server {
	t.Helper()
	s, err := Create()
	if err != nil {
		if os.Getenv("CI") != "true" {
			t.Skip(err)
		}
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Setenv("AWS_ACCESS_KEY_ID", AccessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", SecretKey)
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AWS_CONFIG_FILE", filepath.Join(s.dir, "none"))
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(s.dir, "none"))
	return s
}
