package hallmark

import (
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/evidence"
)

// A token is for the registry of its login, and until it expires.
func TestTokenFor(t *testing.T) {
	h := &Host{Now: func() time.Time { return epoch }}
	s := &Session{Token: "t0k", Registry: "https://registry.example.com", Expires: epoch.Add(time.Second).Unix()}
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
	s.Expires = epoch.Unix()
	if got, err := TokenFor(h, s, s.Registry); got != "" || evidence.ClassOf(err) != evidence.Refused {
		t.Errorf("expired: %q, %v", got, err)
	}
	if got, err := TokenFor(h, s, "https://other.example.com"); got != "" || err != nil {
		t.Errorf("expired, for another: %q, %v", got, err)
	}
}
