package pages

import (
	"fmt"
	"net/http"

	"github.com/hallmark-mcp/hallmark/internal/registry/api"
)

// NewSite returns the handler of a registry.
func NewSite(c api.Config) (http.Handler, error) {
	s, err := api.New(c)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	if err := s.Mount(mux); err != nil {
		return nil, err
	}
	if err := Mount(mux, s); err != nil {
		return nil, fmt.Errorf("registry: %w", err)
	}
	return s.Handler(mux), nil
}
