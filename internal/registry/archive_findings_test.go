package registry

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/hallmark-mcp/hallmark/ledger"
)

// oldSchema is the number of the schema that had findings of servers only.
const oldSchema = 7

// testFindingsMigration fills a database as it was before archives had findings, and opens
// it: all that was there stays, and archives get findings.
func testFindingsMigration(t *testing.T, steps []migration, exec func(string) error, open func() logged) {
	ctx := context.Background()
	for _, step := range steps[:oldSchema] {
		if err := exec(step.text); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
	}
	rec := archived(ledger.Facet, "notes", "1.0.0", 0)
	document, err := rec.Document()
	if err != nil {
		t.Fatal(err)
	}
	if err := exec(fmt.Sprintf(`INSERT INTO archives (`+archiveColumns+`) VALUES
		('facet', 'notes', '1.0.0', '%s', '%s', 4096, '{}', '%s', '{}', '', 'me', 'v1', 'active', '', NULL, 1, 1, 1, %s)`,
		rec.ContentIntegrity, rec.ContentHash, document, "1=1")); err != nil {
		t.Fatal(err)
	}
	db := open()
	archives := db.(ArchiveRecords)
	kept, err := archives.Archive(ctx, ledger.Facet, "notes", "1.0.0")
	if err != nil || kept.Size != 4096 || kept.Publisher != "me" || kept.Findings != nil {
		t.Fatalf("%+v, %v", kept, err)
	}
	f := Finding{Kind: ledger.Facet, Name: "notes", Version: "1.0.0", At: epoch, Build: "v9", Evidence: json.RawMessage(`[{"n":1}]`)}
	if err := archives.AddArchiveFinding(ctx, f); err != nil {
		t.Fatal(err)
	}
	if kept, err = archives.Archive(ctx, ledger.Facet, "notes", "1.0.0"); err != nil || len(kept.Findings) != 1 {
		t.Fatalf("%+v, %v", kept.Findings, err)
	}
	equal(t, "finding", kept.Findings[0], f)
	// Servers have theirs as before.
	insert(t, db, record(t, "io.github.o/a", "1.0.0", 0))
	if err := db.AddFinding(ctx, Finding{Name: "io.github.o/a", Version: "1.0.0", At: epoch}); err != nil {
		t.Error(err)
	}
	logged := entries(t, db)
	if n := len(logged); n != 3 || logged[0].Of != ledger.Facet || logged[2].Of != ledger.Server {
		t.Errorf("%d entries: %+v", n, logged)
	}
}

func TestSQLiteFindingsMigration(t *testing.T) {
	steps, err := readMigrations("sqlite")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "registry.db")
	old, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	exec := func(statement string) error { _, err := old.Exec(statement); return err }
	testFindingsMigration(t, steps, exec, func() logged {
		for _, pragma := range []string{fmt.Sprintf("PRAGMA application_id = %d", applicationID), fmt.Sprintf("PRAGMA user_version = %d", oldSchema)} {
			if err := exec(pragma); err != nil {
				t.Fatal(err)
			}
		}
		if err := old.Close(); err != nil {
			t.Fatal(err)
		}
		return openTest(t, path)
	})
}

func TestPostgresFindingsMigration(t *testing.T) {
	ctx := context.Background()
	steps, err := readMigrations("postgres")
	if err != nil {
		t.Fatal(err)
	}
	url, err := startCluster(t).Schema(ctx)
	if err != nil {
		t.Fatal(err)
	}
	old, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close(ctx)
	exec := func(statement string) error { _, err := old.Exec(ctx, statement); return err }
	testFindingsMigration(t, steps, exec, func() logged {
		if err := exec(fmt.Sprintf("CREATE TABLE hallmark_schema (version integer NOT NULL); INSERT INTO hallmark_schema VALUES (%d)", oldSchema)); err != nil {
			t.Fatal(err)
		}
		return reopenPostgres(t, url)
	})
}
