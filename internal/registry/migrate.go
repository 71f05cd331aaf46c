package registry

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

//go:embed migrations
var migrations embed.FS

// migration is one numbered step of a schema.
type migration struct {
	number int
	name   string // "0001_servers.sql"
	text   string
}

// readMigrations returns the steps of one engine in order. They are numbered from 1
// without gaps, so that a schema's version is the number of its last step.
func readMigrations(engine string) ([]migration, error) {
	dir := "migrations/" + engine
	files, err := fs.ReadDir(migrations, dir) // sorted by name
	if err != nil {
		return nil, err
	}
	steps := make([]migration, len(files))
	for i, f := range files {
		digits, _, _ := strings.Cut(f.Name(), "_")
		n, err := strconv.Atoi(digits)
		if err != nil || n != i+1 {
			return nil, fmt.Errorf("migration %s is not number %d", f.Name(), i+1)
		}
		text, err := fs.ReadFile(migrations, dir+"/"+f.Name())
		if err != nil {
			return nil, err
		}
		steps[i] = migration{n, f.Name(), string(text)}
	}
	return steps, nil
}

// applicationID marks a SQLite file as a registry's: "Hlmk" in ASCII.
const applicationID = 0x486c6d6b

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
	case !fresh && id != applicationID:
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
	steps, err := readMigrations("sqlite")
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
	steps, err := readMigrations("sqlite")
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
		if _, err := tx.ExecContext(ctx, step.text); err != nil {
			return fmt.Errorf("migration %s: %w", step.name, err)
		}
	}
	// A pragma takes no parameters; both values are numbers of ours.
	for _, set := range []string{
		fmt.Sprintf("PRAGMA application_id = %d", applicationID),
		fmt.Sprintf("PRAGMA user_version = %d", len(steps)),
	} {
		if _, err := tx.ExecContext(ctx, set); err != nil {
			return err
		}
	}
	return tx.Commit()
}
