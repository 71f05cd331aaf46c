package fetch

import (
	"context"
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// withoutWaiting runs test where time passes only while everything waits, so that what a
// limit of time does is the same on a machine that is busy. It fails if a goroutine is left.
func withoutWaiting(t *testing.T, test func(*testing.T)) {
	authority() // outside, for it is of the real time
	begin()
	synctest.Test(t, func(t *testing.T) {
		cert, _ := authority()
		time.Sleep(time.Until(cert.Leaf.NotBefore.Add(time.Hour)))
		test(t)
	})
}

// pipes are connections within this process.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { close(p.closed); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 443} }

// servePipes starts a TLS server for localhost, and returns what dials it.
func servePipes(t *testing.T, h http.HandlerFunc) func(context.Context, string, string) (net.Conn, error) {
	t.Helper()
	cert, _ := authority()
	p := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
	s := &http.Server{Handler: h, ErrorLog: log.New(io.Discard, "", 0)}
	go s.Serve(tls.NewListener(p, &tls.Config{Certificates: []tls.Certificate{cert}}))
	t.Cleanup(func() { // handlers end before: no time passes after the test
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			t.Error(err)
		}
	})
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		select {
		case p.conns <- theirs:
			return ours, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
