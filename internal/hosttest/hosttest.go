// Package hosttest makes a host of its own for a test, with a store, a state directory and a clock below the test's
// directory, opens the records of a registry beside it, and has the worlds that tests of several rooms share: a
// [FacetProject], a [FacetWorld] with a registry, a [LoggedRegistry], a [PluginRoom].
//
// It stands above the flows: tests in a room of theirs import it from an external test package.
package hosttest

import (
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/internal/host"
)

// AnyHost lets the servers of tests be asked, as --allow-host does.
func AnyHost() *host.Sending {
	return &host.Sending{Hosts: []string{"127.0.0.1:*", "localhost:*", "[::1]:*"}}
}

// New returns a host for a test, with a state directory of its own and no environment.
func New(t *testing.T) *host.Host {
	return &host.Host{
		Places: host.Places{State: filepath.Join(t.TempDir(), "state")}, Logger: slog.New(slog.DiscardHandler),
		Now:     time.Now,
		Getenv:  func(string) string { return "" },
		Sending: AnyHost(), // hosts_test.go of facets has hosts that nobody agreed to
	}
}
