package host

import (
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/evidence"
)

// A token is for the registry of its login, and until it expires.
func TestTokenFor(t *testing.T) {
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	h := &Host{Now: func() time.Time { return now }}
	s := &Session{Token: "t0k", Registry: "https://registry.example.com", Expires: now.Add(time.Second).Unix()}
	for base, want := range map[string]string{
		"https://registry.example.com":      "t0k",
		"https://Registry.example.com/":     "t0k",
		"https://registry.example.com:8443": "",
		"https://registry.example.com.evil": "",
		"http://registry.example.com":       "",
		"":                                  "",
	} {
		if got, err := TokenFor(h, s, base); got != want || err != nil {
			t.Errorf("%s: %q, %v", base, got, err)
		}
	}
	if got, err := TokenFor(h, nil, s.Registry); got != "" || err != nil {
		t.Errorf("no session: %q, %v", got, err)
	}
	s.Expires = now.Unix()
	if got, err := TokenFor(h, s, s.Registry); got != "" || evidence.ClassOf(err) != evidence.Refused {
		t.Errorf("expired: %q, %v", got, err)
	}
	if got, err := TokenFor(h, s, "https://other.example.com"); got != "" || err != nil {
		t.Errorf("expired, for another: %q, %v", got, err)
	}
}
