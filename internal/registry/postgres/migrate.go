package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hallmark-mcp/hallmark/internal/registry/sqldb"
)

// migratePostgres brings the schema up to date in one transaction, under the lock
// that those who write hold: of several registries that start at once one migrates
// and the others then find nothing to do.
func migratePostgres(ctx context.Context, pool *pgxpool.Pool) error {
	steps, err := sqldb.ReadMigrations("postgres")
	if err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", int64(postgresLock)); err != nil {
			return fmt.Errorf("wait for the lock of those who write: %w", err)
		}
		version, err := postgresVersion(ctx, tx)
		switch {
		case err != nil:
			return err
		case version > len(steps):
			return fmt.Errorf("schema version %d is newer than this build knows (%d)", version, len(steps))
		case version == len(steps):
			return nil
		}
		for _, step := range steps[version:] {
			if _, err := tx.Exec(ctx, step.Text); err != nil {
				return fmt.Errorf("migration %s: %w", step.Name, err)
			}
		}
		if _, err = tx.Exec(ctx, "UPDATE hallmark_schema SET version = $1", len(steps)); err != nil {
			return fmt.Errorf("set the schema's version: %w", err)
		}
		return nil
	})
}

// postgresVersion returns the version of the schema. A database without tables gets
// the table that says it; one with tables of another program is an error.
func postgresVersion(ctx context.Context, tx pgx.Tx) (version int, err error) {
	var ours, any bool
	err = tx.QueryRow(ctx, `SELECT to_regclass('hallmark_schema') IS NOT NULL,
		EXISTS (SELECT FROM pg_class WHERE relkind = 'r'
			AND relnamespace = current_schema()::regnamespace)`).Scan(&ours, &any)
	switch {
	case err != nil:
		return 0, fmt.Errorf("look for the schema: %w", err)
	case !ours && any:
		return 0, errors.New("the database belongs to another program")
	case !ours:
		_, err := tx.Exec(ctx,
			"CREATE TABLE hallmark_schema (version integer NOT NULL); INSERT INTO hallmark_schema VALUES (0)")
		return 0, err
	}
	err = tx.QueryRow(ctx, "SELECT version FROM hallmark_schema").Scan(&version)
	return version, err
}
