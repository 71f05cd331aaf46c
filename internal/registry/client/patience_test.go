package client

import (
	"errors"
	"net/http"
	"testing"
)

// refusing sends nothing.
type refusing struct{ err error }

func (r refusing) RoundTrip(*http.Request) (*http.Response, error) { return nil, r.err }

// TestThrough: calls are sent through what bounds silence, and a publish, which takes its time, is not.
func TestThrough(t *testing.T) {
	silent, other := errors.New("silent"), errors.New("other")
	c := &Client{Base: "http://127.0.0.1:1", HTTP: &http.Client{Transport: refusing{other}},
		Through: func(next http.RoundTripper) http.RoundTripper {
			if next != (refusing{other}) {
				t.Errorf("given %v", next)
			}
			return refusing{silent}
		}}
	if _, err := c.About(t.Context()); !errors.Is(err, silent) {
		t.Errorf("a call: %v", err)
	}
	if _, err := c.Publish(t.Context(), []byte(`{"name":"com.example/a","version":"1.0.0"}`), ""); !errors.Is(err, other) {
		t.Errorf("a publish: %v", err)
	}
}
