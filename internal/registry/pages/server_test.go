package pages_test

import (
	"context"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/api"
	"github.com/hallmark-mcp/hallmark/internal/registry/client"
	"github.com/hallmark-mcp/hallmark/internal/registry/pages"
	"github.com/hallmark-mcp/hallmark/internal/registry/registrytest"
	"github.com/hallmark-mcp/hallmark/internal/registry/servertest"
	"github.com/hallmark-mcp/hallmark/serverjson"
)

func TestNewRefuses(t *testing.T) {
	db := servertest.OpenSQLite(t, filepath.Join(t.TempDir(), "registry.db"))
	check := func(context.Context, *serverjson.Document) (evidence.Report, error) { return nil, nil }
	for name, c := range map[string]api.Config{
		"no records":              {Check: check},
		"no check":                {Records: db},
		"observe without a check": {Records: db, Validation: registry.Observe},
		"unknown validation":      {Records: db, Check: check, Validation: "strict"},
		"requires, but is off":    {Records: db, Validation: registry.Off, RequireHashes: true},
	} {
		if _, err := pages.NewSite(c); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := pages.NewSite(api.Config{Records: db, Validation: registry.Off}); err != nil {
		t.Error(err)
	}
}

// A publish outlasts what the server grants others for reading and writing.
func TestSlowPublish(t *testing.T) {
	h, err := pages.NewSite(api.Config{
		Records: servertest.OpenSQLite(t, filepath.Join(t.TempDir(), "registry.db")), AllowAnonymous: true,
		Check: func(ctx context.Context, _ *serverjson.Document) (evidence.Report, error) {
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(600 * time.Millisecond):
				return evidence.Report{registrytest.Matching(registrytest.NpmID)}, nil
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewUnstartedServer(h)
	srv.Config = registry.NewHTTP("", h)
	if srv.Config.ReadHeaderTimeout <= 0 || srv.Config.IdleTimeout <= 0 || srv.Config.WriteTimeout <= 0 ||
		srv.Config.MaxHeaderBytes <= 0 {
		t.Error("a server without limits")
	}
	srv.Config.ReadTimeout, srv.Config.WriteTimeout = 200*time.Millisecond, 200*time.Millisecond
	srv.Start()
	defer srv.Close()
	if _, err := (&client.Client{Base: srv.URL}).Publish(context.Background(),
		registrytest.Document("io.github.o/notes", "1.0.0"), ""); err != nil {
		t.Error(err)
	}
}
