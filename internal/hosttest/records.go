package hosttest

import (
	"path/filepath"
	"testing"

	"github.com/hallmark-mcp/hallmark/internal/registry/sqlite"
)

// OpenRecords opens the database of a registry in dir.
func OpenRecords(t *testing.T, dir string) *sqlite.DB {
	t.Helper()
	db, err := sqlite.Open(t.Context(), filepath.Join(dir, "registry.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}
