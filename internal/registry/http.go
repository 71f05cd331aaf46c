package registry

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// ShutdownTime is how long requests may take to finish when a server stops.
const ShutdownTime = 30 * time.Second

// NewHTTP returns a server for h on addr that ends the connections of clients that are too slow.
func NewHTTP(addr string, h http.Handler) *http.Server {
	return &http.Server{
		Addr:              addr,
		Handler:           h,
		ReadHeaderTimeout: HeaderTimeout,
		ReadTimeout:       BodyTimeout,
		WriteTimeout:      WriteTimeout,
		IdleTimeout:       IdleTimeout,
		MaxHeaderBytes:    MaxHeader,
	}
}

// StopHTTP takes no more requests and lets those under way finish.
func StopHTTP(ctx context.Context, server *http.Server) error {
	wait, cancel := context.WithTimeout(context.WithoutCancel(ctx), ShutdownTime)
	defer cancel()
	if err := server.Shutdown(wait); err != nil {
		return fmt.Errorf("finish the requests under way within %s: %w", ShutdownTime, err)
	}
	return nil
}
