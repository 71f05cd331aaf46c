package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/api"
	"github.com/hallmark-mcp/hallmark/internal/registry/registrytest"
	"github.com/hallmark-mcp/hallmark/internal/registry/servertest"
	"github.com/hallmark-mcp/hallmark/internal/registry/sqlite"
)

// Findings and origins are part of every answer that gives the record.
func TestFindingsAreShown(t *testing.T) {
	var db *sqlite.DB
	f := servertest.Serve(t, evidence.Report{}, func(c *api.Config) { db = c.Records.(*sqlite.DB) })
	ctx := context.Background()
	rec := registrytest.Record(t, "io.github.o/a", "1.0.0", 0)
	rec.Origin, rec.ImportedAt = "https://registry.example.com", registrytest.Epoch
	registrytest.Insert(t, db, rec)
	registrytest.Insert(t, db, registrytest.Record(t, "io.github.o/b", "1.0.0", 0))
	plain, err := f.Get(ctx, "io.github.o/b", "1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	if i := plain.Meta.Integrity; i.Findings != nil || i.ImportedFrom != "" || i.ImportedAt != nil {
		t.Errorf("%+v", i)
	}
	if err := db.AddFinding(ctx,
		registry.Finding{Name: rec.Name, Version: rec.Version, At: registrytest.Epoch, Build: "b",
			Evidence: json.RawMessage(`[{"subject":"x"}]`)}); err != nil {
		t.Fatal(err)
	}
	const want = `"hallmark/integrity":{"document":"%s","verifiedAt":"2026-01-31T12:00:00.123456Z","build":"test",` +
		`"evidence":[{"subject":"npm:a@1"}],` +
		`"findings":[{"at":"2026-01-31T12:00:00.123456Z","build":"b","evidence":[{"subject":"x"}]}],` +
		`"importedFrom":"https://registry.example.com","importedAt":"2026-01-31T12:00:00.123456Z"}`
	for _, path := range []string{"/v0/servers", "/v0/servers/io.github.o%2Fa/versions",
		"/v0.1/servers/io.github.o%2Fa/versions/1.0.0", "/v0.1/servers/io.github.o%2Fa/versions/latest"} {
		if _, body := registrytest.Send(t, "GET", f.URL+path, ""); !strings.Contains(body,
			fmt.Sprintf(want, rec.Digest)) {
			t.Errorf("%s: %s", path, body)
		}
	}
}
