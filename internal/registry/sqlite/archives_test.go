package sqlite

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/hallmark-mcp/hallmark/internal/registry/registrytest"
	"github.com/hallmark-mcp/hallmark/internal/registry/sqldb"
)

func TestSQLiteFindingsMigration(t *testing.T) {
	steps, err := sqldb.ReadMigrations("sqlite")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "registry.db")
	old, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	exec := func(statement string) error { _, err := old.Exec(statement); return err }
	registrytest.TestFindingsMigration(t, steps, exec, func() registrytest.LogStore {
		for _, pragma := range []string{fmt.Sprintf("PRAGMA application_id = %d", sqldb.ApplicationID),
			fmt.Sprintf("PRAGMA user_version = %d", registrytest.OldSchema)} {
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

func TestSQLiteArchives(t *testing.T) {
	registrytest.TestArchiveRecords(t, func(t *testing.T) registrytest.Shelves {
		return openTest(t, filepath.Join(t.TempDir(), "registry.db"))
	})
}
