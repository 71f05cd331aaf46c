package registry

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/policy"
)

// postgresArchives are the statements as the pool or a transaction runs them.
func postgresArchives(q rowser) archiveSQL {
	return archiveSQL{
		query: func(ctx context.Context, statement string, args []any, each func(func(...any) error) (bool, error)) error {
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
		holds: func(text string, arg func(any) string) string {
			return "name IN (SELECT name FROM archive_names WHERE grams @> " + arg(grams(text)) + " AND kind = $1)"
		},
	}
}

// archivesAlone runs f in a transaction that no other write runs beside.
func (p *Postgres) archivesAlone(ctx context.Context, f func(archiveSQL) error) error {
	return p.alone(ctx, func(tx pgx.Tx) error {
		db := postgresArchives(tx)
		db.exec = func(ctx context.Context, statement string, args ...any) error {
			_, err := tx.Exec(ctx, statement, args...)
			return err
		}
		db.append = func(ctx context.Context, leaves ...ledger.Leaf) (int64, error) {
			return appendPostgres(ctx, tx, leaves...)
		}
		db.noted = func(ctx context.Context, kind, name string) error {
			return db.exec(ctx, "INSERT INTO archive_names (kind, name, grams) VALUES ($1, $2, $3)", kind, name, grams(name))
		}
		return f(db)
	})
}

// InsertArchive implements [ArchiveRecords].
func (p *Postgres) InsertArchive(ctx context.Context, a policy.Admitted, rec ArchiveRecord) (out ArchiveRecord, err error) {
	if rec, err = insertArchive(a, rec); err != nil {
		return ArchiveRecord{}, err
	}
	err = p.archivesAlone(ctx, func(db archiveSQL) (err error) {
		out, err = db.insert(ctx, rec)
		return err
	})
	return out, err
}

// Archive implements [ArchiveRecords].
func (p *Postgres) Archive(ctx context.Context, kind ledger.Kind, name, version string) (rec ArchiveRecord, err error) {
	err = p.read(ctx, func(ctx context.Context) (err error) {
		rec, err = postgresArchives(p.pool).get(ctx, kind, name, version)
		return err
	})
	return rec, err
}

// ArchiveVersions implements [ArchiveRecords].
func (p *Postgres) ArchiveVersions(ctx context.Context, kind ledger.Kind, name, cursor string, deleted bool) (page []ArchiveRecord, next string, err error) {
	err = p.read(ctx, func(ctx context.Context) (err error) {
		page, next, err = postgresArchives(p.pool).versions(ctx, kind, name, cursor, deleted)
		return err
	})
	return page, next, err
}

// ListArchives implements [ArchiveRecords].
func (p *Postgres) ListArchives(ctx context.Context, kind ledger.Kind, q Query) (page []ArchiveRecord, next string, err error) {
	err = p.read(ctx, func(ctx context.Context) (err error) {
		page, next, err = postgresArchives(p.pool).list(ctx, kind, q)
		return err
	})
	return page, next, err
}

// SetArchiveStatus implements [ArchiveRecords].
func (p *Postgres) SetArchiveStatus(ctx context.Context, kind ledger.Kind, name, version string, c Change) (n int, records []ArchiveRecord, err error) {
	if !storable(name, version) {
		return 0, nil, ErrNotFound
	}
	if !storable(c.Message) {
		return 0, nil, errors.New("status message: not UTF-8 without NUL")
	}
	err = p.archivesAlone(ctx, func(db archiveSQL) (err error) {
		n, records, err = db.setStatus(ctx, kind, name, version, c)
		return err
	})
	if err != nil {
		return 0, nil, err
	}
	return n, records, nil
}
