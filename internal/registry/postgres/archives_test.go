package postgres

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/hallmark-mcp/hallmark/internal/registry/registrytest"
	"github.com/hallmark-mcp/hallmark/internal/registry/sqldb"
)

func TestPostgresFindingsMigration(t *testing.T) {
	ctx := context.Background()
	steps, err := sqldb.ReadMigrations("postgres")
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
	registrytest.TestFindingsMigration(t, steps, exec, func() registrytest.LogStore {
		if err := exec(
			fmt.Sprintf("CREATE TABLE hallmark_schema (version integer NOT NULL); INSERT INTO hallmark_schema VALUES "+
				"(%d)", registrytest.OldSchema)); err != nil {
			t.Fatal(err)
		}
		return reopenPostgres(t, url)
	})
}

func TestPostgresArchives(t *testing.T) {
	registrytest.TestArchiveRecords(t, func(t *testing.T) registrytest.Shelves { return openPostgresTest(t) })
}
