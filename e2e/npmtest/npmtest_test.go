package npmtest

import (
	"crypto/sha512"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"testing"
)

// TestServer shows that the registry is honest, that its authority is the only one that
// is needed, and that a fault lasts as long as it was told to.
func TestServer(t *testing.T) {
	s, err := New()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Publish(
		Package{Name: "@acme/notes", Version: "1.0.0", Files: map[string]string{"index.js": "x"}}); err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(s.Authority()) {
		t.Fatal("no authority")
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig.RootCAs = roots
	defer transport.CloseIdleConnections()
	get := func(path string) (int, []byte, error) {
		t.Helper()
		resp, err := (&http.Client{Transport: transport}).Get(s.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		data, err := io.ReadAll(resp.Body)
		return resp.StatusCode, data, err
	}
	var document struct {
		Name string
		Dist struct{ Tarball, Integrity string }
	}
	for _, path := range []string{"/@acme%2fnotes/1.0.0", "/@acme/notes/1.0.0"} {
		if status, data, err := get(path); err != nil || status != 200 || json.Unmarshal(data, &document) != nil ||
			document.Name != "@acme/notes" {
			t.Errorf("%s: %d %s %v", path, status, data, err)
		}
	}
	path := TarballPath("@acme/notes", "1.0.0")
	if document.Dist.Tarball != s.URL+path {
		t.Errorf("the tarball is at %s", document.Dist.Tarball)
	}
	_, data, err := get(path)
	sum := sha512.Sum512(data)
	if err != nil || document.Dist.Integrity != "sha512-"+base64.StdEncoding.EncodeToString(sum[:]) {
		t.Errorf("integrity %s: %v", document.Dist.Integrity, err)
	}
	if status, _, _ := get("/@acme/other"); status != 404 {
		t.Errorf("an unknown package: %d", status)
	}

	s.Break(path, 2, Status(503, -1))
	for i, want := range []int{503, 503, 200} {
		if status, _, _ := get(path); status != want {
			t.Errorf("request %d: %d, want %d", i, status, want)
		}
	}
	for name, f := range map[string]Fault{"reset": Reset(10, false), "too long": TooLong(1)} {
		s.Break(path, Always, f)
		if _, part, err := get(path); err == nil || len(part) > len(data) {
			t.Errorf("%s: %d bytes, %v", name, len(part), err)
		}
	}
	s.Break(path, 0, nil)
	if _, again, err := get(path); err != nil || string(again) != string(data) {
		t.Errorf("mended: %d bytes, %v", len(again), err)
	}
	if n := s.Requests(path); n < 7 {
		t.Errorf("%d requests", n)
	}
}
