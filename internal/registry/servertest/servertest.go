// Package servertest starts registries for tests and publishes to them, and opens their databases and logs alone.
package servertest

import (
	"bytes"
	"context"
	"log/slog"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/registry/api"
	"github.com/hallmark-mcp/hallmark/internal/registry/client"
	"github.com/hallmark-mcp/hallmark/internal/registry/pages"
	"github.com/hallmark-mcp/hallmark/internal/registry/registrytest"
	"github.com/hallmark-mcp/hallmark/internal/registry/sqlite"
	"github.com/hallmark-mcp/hallmark/serverjson"
)

// Fixture is a registry over HTTP.
type Fixture struct {
	*client.Client
	URL      string
	Counters *api.Counters
	Checks   atomic.Int64
	Config   api.Config

	srv *httptest.Server
	log bytes.Buffer
}

// Log stops the registry, as a request's line is written after its answer, and
// returns what was logged.
func (f *Fixture) Log() string {
	f.srv.Close()
	return f.log.String()
}

// Serve starts a registry that takes anonymous publishes and finds report for each.
// It can be changed before it starts.
func Serve(t *testing.T, report evidence.Report, change func(*api.Config)) *Fixture {
	t.Helper()
	f := &Fixture{Counters: new(api.Counters)}
	var mu sync.Mutex
	now := registrytest.Epoch
	c := api.Config{
		Records:        OpenSQLite(t, filepath.Join(t.TempDir(), "registry.db")),
		Check:          func(context.Context, *serverjson.Document) (evidence.Report, error) { return report, nil },
		AllowAnonymous: true,
		Logger:         slog.New(slog.NewTextHandler(&f.log, nil)),
		Version:        "1.2.3",
		Counters:       f.Counters,
		Limits:         api.Limits{CheckWait: time.Minute},
		Now: func() time.Time {
			mu.Lock()
			defer mu.Unlock()
			now = now.Add(time.Second)
			return now
		},
	}
	db := c.Records.(*sqlite.DB)
	c.Statuses, c.Tokens = db, db.Tokens()
	if change != nil {
		change(&c)
	}
	if check := c.Check; check != nil {
		c.Check = func(ctx context.Context, doc *serverjson.Document) (evidence.Report, error) {
			f.Checks.Add(1)
			return check(ctx, doc)
		}
	}
	f.Config = c
	h, err := pages.NewSite(c)
	if err != nil {
		t.Fatal(err)
	}
	f.srv = httptest.NewServer(h)
	t.Cleanup(f.srv.Close)
	f.URL, f.Client = f.srv.URL, &client.Client{Base: f.srv.URL}
	return f
}
