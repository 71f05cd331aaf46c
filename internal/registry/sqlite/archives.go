package sqlite

import (
	"context"
	"database/sql"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/sqldb"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/policy"
)

// AddArchiveFinding implements [registry.ArchiveRecords].
func (s *DB) AddArchiveFinding(ctx context.Context, f registry.Finding) error {
	f, err := sqldb.ArchiveFinding(f)
	if err != nil {
		return err
	}
	return s.archivesAlone(ctx, func(db sqldb.Archives) error { return db.AddFinding(ctx, f) })
}

// ArchiveFindings implements [registry.ArchiveRecords].
func (s *DB) ArchiveFindings(ctx context.Context, kind ledger.Kind, name, version string) ([]registry.Finding, error) {
	return sqliteArchives(s.read).Findings(ctx, kind, name, version)
}

// sqliteArchives are the statements as a connection or a transaction runs them.
func sqliteArchives(q interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}) sqldb.Archives {
	return sqldb.Archives{
		Query: func(ctx context.Context, statement string, args []any,
			each func(func(...any) error) (bool, error)) error {
			rows, err := q.QueryContext(ctx, statement, args...)
			if err != nil {
				return err
			}
			defer rows.Close()
			for rows.Next() {
				if more, err := each(rows.Scan); err != nil || !more {
					return err
				}
			}
			return rows.Err()
		},
		Holds: func(text string, arg func(any) string) string {
			// A quoted string matches the names that hold it.
			return "name IN (SELECT name FROM archive_names WHERE archive_names MATCH " +
				arg(`"`+strings.ReplaceAll(text, `"`, `""`)+`"`) + " AND kind = $1)"
		},
	}
}

// archivesAlone runs f in a transaction of the writer.
func (s *DB) archivesAlone(ctx context.Context, f func(sqldb.Archives) error) error {
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	db := sqliteArchives(tx)
	db.Exec = func(ctx context.Context, statement string, args ...any) error {
		_, err := tx.ExecContext(ctx, statement, args...)
		return err
	}
	db.Append = func(ctx context.Context, leaves ...ledger.Leaf) (int64, error) {
		a, err := appendLog(ctx, tx, leaves...)
		if err != nil {
			return 0, err
		}
		return a.First, nil
	}
	db.Noted = func(ctx context.Context, kind, name string) error {
		return db.Exec(ctx, "INSERT INTO archive_names (name, kind) VALUES ($1, $2)", name, kind)
	}
	if err := f(db); err != nil {
		return err
	}
	return tx.Commit()
}

// InsertArchive implements [registry.ArchiveRecords].
func (s *DB) InsertArchive(
	ctx context.Context, a policy.Admitted, rec registry.ArchiveRecord,
) (out registry.ArchiveRecord, err error) {
	if rec, err = sqldb.InsertArchive(a, rec); err != nil {
		return registry.ArchiveRecord{}, err
	}
	err = s.archivesAlone(ctx, func(db sqldb.Archives) (err error) {
		out, err = db.Insert(ctx, rec)
		return err
	})
	return out, err
}

// Archive implements [registry.ArchiveRecords].
func (s *DB) Archive(ctx context.Context, kind ledger.Kind, name, version string) (registry.ArchiveRecord, error) {
	return sqliteArchives(s.read).Get(ctx, kind, name, version)
}

// ArchiveVersions implements [registry.ArchiveRecords].
func (s *DB) ArchiveVersions(
	ctx context.Context, kind ledger.Kind, name, cursor string, deleted bool,
) ([]registry.ArchiveRecord, string, error) {
	return sqliteArchives(s.read).Versions(ctx, kind, name, cursor, deleted)
}

// ListArchives implements [registry.ArchiveRecords].
func (s *DB) ListArchives(
	ctx context.Context, kind ledger.Kind, q registry.Query,
) ([]registry.ArchiveRecord, string, error) {
	return sqliteArchives(s.read).List(ctx, kind, q)
}

// SetArchiveStatus implements [registry.ArchiveRecords].
func (s *DB) SetArchiveStatus(
	ctx context.Context, kind ledger.Kind, name, version string, c registry.Change,
) (n int, records []registry.ArchiveRecord, err error) {
	err = s.archivesAlone(ctx, func(db sqldb.Archives) (err error) {
		n, records, err = db.SetStatus(ctx, kind, name, version, c)
		return err
	})
	if err != nil {
		return 0, nil, err
	}
	return n, records, nil
}
