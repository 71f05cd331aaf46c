package publish

import (
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/registry/client"
)

// FindRegistry returns a client of the registry at base, or of the registry of the last login if
// base is empty, and the token to publish with: HALLMARK_TOKEN, else the token of the login. The
// client is nil if there is no base and no login.
func FindRegistry(h *host.Host, base string) (*client.Client, string, error) {
	s, err := host.CurrentSession(h)
	if err != nil {
		return nil, "", err
	}
	if base == "" && s != nil {
		base = s.Registry
	}
	if base == "" {
		return nil, "", nil
	}
	if base, err = client.ParseBase(base); err != nil {
		return nil, "", err
	}
	c := &client.Client{Base: base}
	if token := h.Getenv("HALLMARK_TOKEN"); token != "" {
		return c, token, nil
	}
	token, err := host.TokenFor(h, s, base)
	return c, token, err
}
