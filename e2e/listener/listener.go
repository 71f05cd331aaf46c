// Package listener is a host for tests that show that nothing connects to it.
package listener

import (
	"net"
	"sync/atomic"
	"testing"
)

// Start listens on this machine's loopback until the test ends. It counts the connections, and
// closes each without an answer.
func Start(t testing.TB) (address string, connections *atomic.Int32) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	connections = new(atomic.Int32)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			connections.Add(1)
			c.Close()
		}
	}()
	return l.Addr().String(), connections
}
