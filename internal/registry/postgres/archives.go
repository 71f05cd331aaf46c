package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/sqldb"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/policy"
)

// postgresArchives are the statements as the pool or a transaction runs them.
func postgresArchives(q rowser) sqldb.Archives {
	return sqldb.Archives{
		Query: func(ctx context.Context, statement string, args []any,
			each func(func(...any) error) (bool, error)) error {
			rows, err := q.Query(ctx, statement, args...)
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
			return "name IN (SELECT name FROM archive_names WHERE grams @> " + arg(grams(text)) + " AND kind = $1)"
		},
	}
}

// archivesAlone runs f in a transaction beside which no other write runs.
func (p *DB) archivesAlone(ctx context.Context, f func(sqldb.Archives) error) error {
	return p.alone(ctx, func(ctx context.Context, tx pgx.Tx) error {
		db := postgresArchives(tx)
		db.Exec = func(ctx context.Context, statement string, args ...any) error {
			_, err := tx.Exec(ctx, statement, args...)
			return err
		}
		db.Append = func(ctx context.Context, leaves ...ledger.Leaf) (int64, error) {
			return appendPostgres(ctx, tx, leaves...)
		}
		db.Noted = func(ctx context.Context, kind, name string) error {
			return db.Exec(ctx, "INSERT INTO archive_names (kind, name, grams) VALUES ($1, $2, $3)", kind, name,
				grams(name))
		}
		return f(db)
	})
}

// InsertArchive implements [registry.ArchiveRecords].
func (p *DB) InsertArchive(
	ctx context.Context, a policy.Admitted, rec registry.ArchiveRecord,
) (out registry.ArchiveRecord, err error) {
	if rec, err = sqldb.InsertArchive(a, rec); err != nil {
		return registry.ArchiveRecord{}, err
	}
	err = p.archivesAlone(ctx, func(db sqldb.Archives) (err error) {
		out, err = db.Insert(ctx, rec)
		return err
	})
	return out, err
}

// Archive implements [registry.ArchiveRecords].
func (p *DB) Archive(
	ctx context.Context, kind ledger.Kind, name, version string,
) (rec registry.ArchiveRecord, err error) {
	err = p.read(ctx, func(ctx context.Context) (err error) {
		rec, err = postgresArchives(p.pool).Get(ctx, kind, name, version)
		return err
	})
	return rec, err
}

// ArchiveVersions implements [registry.ArchiveRecords].
func (p *DB) ArchiveVersions(
	ctx context.Context, kind ledger.Kind, name, cursor string, deleted bool,
) (page []registry.ArchiveRecord, next string, err error) {
	err = p.read(ctx, func(ctx context.Context) (err error) {
		page, next, err = postgresArchives(p.pool).Versions(ctx, kind, name, cursor, deleted)
		return err
	})
	return page, next, err
}

// ListArchives implements [registry.ArchiveRecords].
func (p *DB) ListArchives(
	ctx context.Context, kind ledger.Kind, q registry.Query,
) (page []registry.ArchiveRecord, next string, err error) {
	err = p.read(ctx, func(ctx context.Context) (err error) {
		page, next, err = postgresArchives(p.pool).List(ctx, kind, q)
		return err
	})
	return page, next, err
}

// SetArchiveStatus implements [registry.ArchiveRecords].
func (p *DB) SetArchiveStatus(
	ctx context.Context, kind ledger.Kind, name, version string, c registry.Change,
) (n int, records []registry.ArchiveRecord, err error) {
	if !registry.Storable(name, version) {
		return 0, nil, registry.ErrNotFound
	}
	if !registry.Storable(c.Message) {
		return 0, nil, errors.New("status message: not UTF-8 without NUL")
	}
	err = p.archivesAlone(ctx, func(db sqldb.Archives) (err error) {
		n, records, err = db.SetStatus(ctx, kind, name, version, c)
		return err
	})
	if err != nil {
		return 0, nil, err
	}
	return n, records, nil
}

// AddArchiveFinding implements [registry.ArchiveRecords].
func (p *DB) AddArchiveFinding(ctx context.Context, f registry.Finding) error {
	f, err := sqldb.ArchiveFinding(f)
	if err != nil {
		return err
	}
	return p.archivesAlone(ctx, func(db sqldb.Archives) error { return db.AddFinding(ctx, f) })
}

// ArchiveFindings implements [registry.ArchiveRecords].
func (p *DB) ArchiveFindings(
	ctx context.Context, kind ledger.Kind, name, version string,
) (found []registry.Finding, err error) {
	err = p.read(ctx, func(ctx context.Context) error {
		found, err = postgresArchives(p.pool).Findings(ctx, kind, name, version)
		return err
	})
	return found, err
}
