package registry

import (
	"context"
	"database/sql"
	"strings"

	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/policy"
)

// sqliteArchives are the statements as a connection or a transaction runs them.
func sqliteArchives(q interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}) archiveSQL {
	return archiveSQL{
		query: func(ctx context.Context, statement string, args []any, each func(func(...any) error) (bool, error)) error {
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
		holds: func(text string, arg func(any) string) string {
			// A quoted string matches the names that hold it.
			return "name IN (SELECT name FROM archive_names WHERE archive_names MATCH " + arg(`"`+strings.ReplaceAll(text, `"`, `""`)+`"`) + " AND kind = $1)"
		},
	}
}

// archivesAlone runs f in a transaction of the writer.
func (s *SQLite) archivesAlone(ctx context.Context, f func(archiveSQL) error) error {
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	db := sqliteArchives(tx)
	db.exec = func(ctx context.Context, statement string, args ...any) error {
		_, err := tx.ExecContext(ctx, statement, args...)
		return err
	}
	db.append = func(ctx context.Context, leaves ...ledger.Leaf) (int64, error) {
		a, err := appendLog(ctx, tx, leaves...)
		if err != nil {
			return 0, err
		}
		return a.first, nil
	}
	db.noted = func(ctx context.Context, kind, name string) error {
		return db.exec(ctx, "INSERT INTO archive_names (name, kind) VALUES ($1, $2)", name, kind)
	}
	if err := f(db); err != nil {
		return err
	}
	return tx.Commit()
}

// InsertArchive implements [ArchiveRecords].
func (s *SQLite) InsertArchive(ctx context.Context, a policy.Admitted, rec ArchiveRecord) (out ArchiveRecord, err error) {
	if rec, err = insertArchive(a, rec); err != nil {
		return ArchiveRecord{}, err
	}
	err = s.archivesAlone(ctx, func(db archiveSQL) (err error) {
		out, err = db.insert(ctx, rec)
		return err
	})
	return out, err
}

// Archive implements [ArchiveRecords].
func (s *SQLite) Archive(ctx context.Context, kind ledger.Kind, name, version string) (ArchiveRecord, error) {
	return sqliteArchives(s.read).get(ctx, kind, name, version)
}

// ArchiveVersions implements [ArchiveRecords].
func (s *SQLite) ArchiveVersions(ctx context.Context, kind ledger.Kind, name, cursor string, deleted bool) ([]ArchiveRecord, string, error) {
	return sqliteArchives(s.read).versions(ctx, kind, name, cursor, deleted)
}

// ListArchives implements [ArchiveRecords].
func (s *SQLite) ListArchives(ctx context.Context, kind ledger.Kind, q Query) ([]ArchiveRecord, string, error) {
	return sqliteArchives(s.read).list(ctx, kind, q)
}

// SetArchiveStatus implements [ArchiveRecords].
func (s *SQLite) SetArchiveStatus(ctx context.Context, kind ledger.Kind, name, version string, c Change) (n int, records []ArchiveRecord, err error) {
	err = s.archivesAlone(ctx, func(db archiveSQL) (err error) {
		n, records, err = db.setStatus(ctx, kind, name, version, c)
		return err
	})
	if err != nil {
		return 0, nil, err
	}
	return n, records, nil
}
