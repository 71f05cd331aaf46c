package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/hallmark-mcp/hallmark/internal/registry/sqldb"
)

// schemaVersion returns the version of the schema, 0 if the file is empty. A file of
// another program, and one that is newer than known, is an error. The transaction
// makes the answers to three questions those of one moment.
func schemaVersion(ctx context.Context, tx *sql.Tx, known int) (int, error) {
	var id, version, tables int
	if err := tx.QueryRowContext(ctx, "PRAGMA application_id").Scan(&id); err != nil {
		return 0, err
	}
	if err := tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return 0, err
	}
	if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&tables); err != nil {
		return 0, err
	}
	switch fresh := id == 0 && version == 0 && tables == 0; {
	case !fresh && id != sqldb.ApplicationID:
		return 0, errors.New("the file is the database of another program")
	case version > known:
		return 0, fmt.Errorf("schema version %d is newer than this build knows (%d)", version, known)
	case version < 0:
		return 0, fmt.Errorf("schema version %d", version)
	}
	return version, nil
}

// checkSQLite looks at the file behind name before anything is written to it.
func checkSQLite(ctx context.Context, name string) error {
	steps, err := sqldb.ReadMigrations("sqlite")
	if err != nil {
		return err
	}
	db, err := sql.Open("sqlite", name)
	if err != nil {
		return err
	}
	defer db.Close()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	_, err = schemaVersion(ctx, tx, len(steps))
	return err
}

// migrateSQLite brings the schema up to date in one transaction. The transaction
// begins by taking the write lock, so that of several processes that start at once
// one migrates and the others then find nothing to do. The schema's version is kept
// in the file's header, which the transaction covers.
func migrateSQLite(ctx context.Context, db *sql.DB) error {
	steps, err := sqldb.ReadMigrations("sqlite")
	if err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()

	version, err := schemaVersion(ctx, tx, len(steps))
	if err != nil {
		return err
	}
	if version == len(steps) {
		return nil
	}
	for _, step := range steps[version:] {
		if _, err := tx.ExecContext(ctx, step.Text); err != nil {
			return fmt.Errorf("migration %s: %w", step.Name, err)
		}
	}
	// A pragma takes no parameters; both values are numbers of ours.
	for _, set := range []string{
		fmt.Sprintf("PRAGMA application_id = %d", sqldb.ApplicationID),
		fmt.Sprintf("PRAGMA user_version = %d", len(steps)),
	} {
		if _, err := tx.ExecContext(ctx, set); err != nil {
			return fmt.Errorf("set the schema's version: %w", err)
		}
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit the migrations: %w", err)
	}
	return nil
}
