// Package server is a registry as one HTTP handler: the API and the pages.
package server

import (
	"fmt"
	"net/http"

	"github.com/hallmark-mcp/hallmark/internal/registry/api"
	"github.com/hallmark-mcp/hallmark/internal/registry/pages"
)

// New returns the handler of a registry.
func New(c api.Config) (http.Handler, error) {
	s, err := api.New(c)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	if err := s.Mount(mux); err != nil {
		return nil, err
	}
	if err := pages.Mount(mux, s); err != nil {
		return nil, fmt.Errorf("registry: %w", err)
	}
	return s.Handler(mux), nil
}
