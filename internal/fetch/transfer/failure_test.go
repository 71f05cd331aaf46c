package transfer

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
)

// TestFailureTellsNoAddress: an error of a server goes to the publisher, who must learn nothing
// of the server's network.
func TestFailureTellsNoAddress(t *testing.T) {
	here, there := &net.TCPAddr{IP: net.IPv4(10, 0, 0, 7), Port: 40000},
		&net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 443}
	for _, err := range []error{
		&net.OpError{Op: "dial", Net: "tcp",
			Err: &net.DNSError{Err: "no such host", Name: "inside.example.com", Server: "10.0.0.7:53",
				IsNotFound: true}},
		&net.OpError{Op: "read", Net: "tcp", Source: here, Addr: there, Err: errors.New("reset")},
		&addressError{"inside.example.com", RefusePrivate()("inside.example.com", netip.MustParseAddr("10.0.0.7"))},
	} {
		f := ConnectionFailure(fmt.Errorf("sent: %w", err))
		if text := f.Error(); strings.Contains(text, "10.0.0.7") || !strings.Contains(text, "reset") &&
			!strings.Contains(text, "inside.example.com") {
			t.Errorf("%v: says %s", err, text)
		}
	}
}
