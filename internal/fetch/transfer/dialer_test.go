package transfer

import (
	"errors"
	"net/netip"
	"net/url"
	"testing"
)

// TestNamesOfThisMachine: a name of this machine has an address of it, whatever a resolver says.
func TestNamesOfThisMachine(t *testing.T) {
	for _, c := range []struct {
		host, address string
		ok            bool
	}{
		{"localhost", "127.0.0.1", true},
		{"LOCALHOST.", "::1", true},
		{"registry.localhost", "127.0.0.2", true},
		{"localhost", "::ffff:127.0.0.1", true},
		{"localhost", "10.0.0.1", false},
		{"localhost", "0.0.0.0", false},
		{"registry.localhost", "192.0.2.1", false},
		{"a.b.Localhost.", "2001:db8::1", false},
		{"registry.example.com", "192.0.2.1", true},
		{"notlocalhost", "192.0.2.1", true},
	} {
		if err := checkAddress(c.host, netip.MustParseAddr(c.address), nil); (err == nil) != c.ok {
			t.Errorf("%s at %s: %v", c.host, c.address, err)
		}
	}
	refused := errors.New("refused")
	allow := func(string, netip.Addr) error { return refused }
	if err := checkAddress("localhost", netip.MustParseAddr("127.0.0.1"), allow); err != refused {
		t.Error(err)
	}
}

// TestCheckURLFrom: plain http is for a registry on this machine, and for what it leads to there.
func TestCheckURLFrom(t *testing.T) {
	for _, c := range []struct {
		base, to string
		ok       bool
	}{
		{"http://localhost:4873/", "http://localhost:4873/a", true},
		{"http://127.0.0.1:4873/", "http://registry.localhost/a", true},
		{"http://[::1]:4873/", "http://127.9.9.9:1/a", true},
		{"http://localhost:4873/", "https://registry.example.com/a", true},
		{"http://localhost:4873/", "http://registry.example.com/a", false},
		{"http://localhost:4873/", "http://u@localhost:4873/a", false},
		{"http://localhost:4873/", "ftp://localhost/a", false},
		{"https://localhost:4873/", "http://localhost:4873/a", false},
		{"https://registry.example.com/", "http://localhost:4873/a", false},
		{"http://registry.example.com/", "http://localhost:4873/a", false},
		{"http://registry.example.com/", "http://registry.example.com/a", false},
		{"http://localhost.example.com/", "http://localhost.example.com/a", false},
		{"http://localhost@registry.example.com/", "http://localhost@registry.example.com/a", false},
	} {
		base, err := url.Parse(c.base)
		if err != nil {
			t.Fatal(err)
		}
		to, err := url.Parse(c.to)
		if err != nil {
			t.Fatal(err)
		}
		if err := CheckURLFrom(to, base); (err == nil) != c.ok {
			t.Errorf("%s to %s: %v", c.base, c.to, err)
		}
	}
}
