package sqlite

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/registrytest"
	"github.com/hallmark-mcp/hallmark/internal/registry/sqldb"
	"github.com/hallmark-mcp/hallmark/ledger"
)

// A database of before the last steps gets them, and keeps its records, which get their
// entries in the log.
func TestMigrationKeepsRecords(t *testing.T) {
	path := filepath.Join(t.TempDir(), "registry.db")
	db := openTest(t, path)
	steps, err := sqldb.ReadMigrations("sqlite")
	if err != nil {
		t.Fatal(err)
	}
	want := registrytest.Insert(t, db, registrytest.Record(t, "io.github.o/a", "1.0.0", 0))
	for _, undo := range []string{"DROP TABLE findings", "DROP TABLE imports", "ALTER TABLE servers DROP COLUMN origin",
		"ALTER TABLE servers DROP COLUMN imported_at", "ALTER TABLE servers DROP COLUMN findings",
		"DROP INDEX servers_listed", "DROP INDEX servers_listed_latest",
		"DROP TABLE log_entries", "DROP TABLE log_nodes", "DROP TABLE log_head",
		"DROP TABLE archive_findings", "DROP TABLE archives", "DROP TABLE archive_names", "PRAGMA user_version = 2"} {
		if _, err := db.write.Exec(undo); err != nil {
			t.Fatal(err)
		}
	}
	again := openTest(t, path)
	got, err := again.Get(context.Background(), want.Name, want.Version)
	if err != nil {
		t.Fatal(err)
	}
	registrytest.Equal(t, "migrated", got, want)
	entries, err := again.LogEntries(context.Background(), 0, 9)
	if err != nil || len(entries) != 1 {
		t.Fatalf("%d entries, %v", len(entries), err)
	}
	if leaf, err := ledger.ParseLeaf(entries[0]); err != nil || leaf.Name != want.Name ||
		leaf.Publisher != registry.BeforeTheLog || !evidence.Same(leaf.Document, want.Digest) {
		t.Errorf("entry %s, %v", entries[0], err)
	}
	var version int
	if err := again.read.QueryRow("PRAGMA user_version").Scan(&version); err != nil || version != len(steps) {
		t.Errorf("version %d, %v", version, err)
	}
}
