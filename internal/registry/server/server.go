// Package server is a registry as one HTTP handler: the API and the pages.
package server

import (
	"fmt"
	"net/http"

	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/api"
	"github.com/hallmark-mcp/hallmark/internal/registry/pages"
)

// NewHTTP returns a server for h on addr that does not wait for slow clients.
func NewHTTP(addr string, h http.Handler) *http.Server {
	return &http.Server{
		Addr:              addr,
		Handler:           h,
		ReadHeaderTimeout: registry.HeaderTimeout,
		ReadTimeout:       registry.BodyTimeout,
		WriteTimeout:      registry.WriteTimeout,
		IdleTimeout:       registry.IdleTimeout,
		MaxHeaderBytes:    registry.MaxHeader,
	}
}

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
