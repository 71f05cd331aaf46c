package registrytest

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/internal/registry"
)

// WantProblem demands that err is a problem with status, whose text has every part.
func WantProblem(t *testing.T, err error, status int, parts ...string) *registry.Problem {
	t.Helper()
	var p *registry.Problem
	if !errors.As(err, &p) {
		t.Fatalf("error %v, want a problem with status %d", err, status)
	}
	if p.Status != status {
		t.Errorf("status %d, want %d: %v", p.Status, status, err)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("problem %q does not have %q", err, part)
		}
	}
	return p
}

// Send makes one request and returns the answer and its body. Redirects are answers.
func Send(t *testing.T, method, url, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(text)
}
