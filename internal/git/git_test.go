package git

import (
	"errors"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/e2e/hang"
	"github.com/hallmark-mcp/hallmark/e2e/listener"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/foreign"
	"github.com/hallmark-mcp/hallmark/internal/wire"
)

// TestSilentGit: git gives up on a server that accepts a connection and sends nothing.
func TestSilentGit(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			defer c.Close()
		}
	}()
	r := Repository{URL: "https://" + l.Addr().String() + "/kit.git", Checkout: foreign.FindCheckout(".", ""),
		Environ: os.Environ(), Time: time.Second, Work: t.TempDir(), May: func(wire.HostUse) error { return nil }}
	hang.Ends(t, "a silent server's repository", func() { _, err = r.Resolve(t.Context(), Ref{}) })
	var e *wire.Error
	if !errors.As(err, &e) || e.Cause != evidence.Unreachable {
		t.Errorf("%v", err)
	}
	if left, _ := os.ReadDir(r.Work); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}

// TestGitWithoutPassword: an error does not show the password of a URL.
func TestGitWithoutPassword(t *testing.T) {
	r := Repository{URL: "https://user:s3cret@127.0.0.1:1/kit.git", Checkout: foreign.FindCheckout(".", ""),
		Environ: os.Environ(), May: func(wire.HostUse) error { return nil }}
	if _, err := r.Resolve(t.Context(), Ref{}); err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Error(err)
	}
}

// TestRepositoryHost: git is not started for a host that nobody agreed to.
func TestRepositoryHost(t *testing.T) {
	host, connections := listener.Start(t)
	var asked sync.Map
	refuse := func(u wire.HostUse) error {
		asked.Store(u.Host, true)
		return wire.Refusal(u)
	}
	for _, may := range []func(wire.HostUse) error{nil, refuse} {
		for _, scheme := range []string{"https://", "ssh://git@", "https://user:s3cret@"} {
			address := scheme + host + "/kit.git"
			r := Repository{URL: address, Checkout: foreign.FindCheckout(".", ""), Environ: os.Environ(),
				May: may, Work: t.TempDir()}
			_, resolving := r.Resolve(t.Context(), Ref{})
			_, fetching := r.Fetch(t.Context(), strings.Repeat("a", 40))
			for _, err := range []error{resolving, fetching} {
				if wire.NotAgreed(err) == nil || strings.Contains(err.Error(), "s3cret") {
					t.Errorf("%s: %v", address, err)
				}
			}
		}
	}
	if _, ok := asked.Load(host); !ok || connections.Load() > 0 {
		t.Errorf("%d connections", connections.Load())
	}
}
