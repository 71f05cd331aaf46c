package registry

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"
)

// ShutdownTime is how long requests may take to finish when a server stops.
const ShutdownTime = 30 * time.Second

// ServeHTTP serves h on listener until ctx ends, then lets requests finish. It calls reload for each signal.
func ServeHTTP(ctx context.Context, listener net.Listener, h http.Handler, signals <-chan os.Signal,
	reload func()) error {
	server := NewHTTP("", h)
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	for {
		select {
		case <-signals:
			reload()
		case err := <-done:
			return err
		case <-ctx.Done():
			return stopHTTP(ctx, server)
		}
	}
}

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

// stopHTTP takes no more requests and lets those under way finish.
func stopHTTP(ctx context.Context, server *http.Server) error {
	wait, cancel := context.WithTimeout(context.WithoutCancel(ctx), ShutdownTime)
	defer cancel()
	if err := server.Shutdown(wait); err != nil {
		return fmt.Errorf("finish the requests under way within %s: %w", ShutdownTime, err)
	}
	return nil
}
