package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/sqldb"
)

// statusBatch is how many records are read and rendered again at a time.
const statusBatch = 100

// alone runs f in a transaction beside which no other write runs, in any process, and commits.
func (p *DB) alone(ctx context.Context, f func(context.Context, pgx.Tx) error) error {
	return p.inTransaction(ctx, func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", int64(postgresLock))
		return err
	}, f)
}

// inTransaction runs begin and f in a transaction, and commits. It does not retry once f has begun. f must use the
// context that it is given, which ends when the database has been silent for too long. If the commit took too long, it
// is not known whether it was made.
func (p *DB) inTransaction(ctx context.Context, begin, f func(context.Context, pgx.Tx) error) error {
	var tx pgx.Tx
	err := p.read(ctx, func(ctx context.Context) (err error) {
		if tx, err = p.pool.Begin(ctx); err != nil {
			return err
		}
		if err = begin(ctx, tx); err != nil {
			p.rollback(ctx, tx)
		}
		return err
	})
	if err != nil {
		return err
	}
	defer p.rollback(ctx, tx)
	writing, cancel := context.WithTimeout(ctx, p.writeTime)
	defer cancel()
	if err = f(writing, tx); err == nil {
		err = tx.Commit(writing)
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return unavailable(err)
}

// rollback ends tx if it has not ended, even if the caller is gone. It does not wait for a
// silent database.
func (p *DB) rollback(ctx context.Context, tx pgx.Tx) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.readTime)
	defer cancel()
	_ = tx.Rollback(ctx)
}

// SetStatus implements [registry.Statuses].
func (p *DB) SetStatus(
	ctx context.Context, name, version string, c registry.Change,
) (n int, records []registry.Record, err error) {
	if !registry.Storable(name, version) {
		return 0, nil, registry.ErrNotFound
	}
	if !registry.Storable(c.Message) {
		return 0, nil, errors.New("status message: not UTF-8 without NUL")
	}
	err = p.alone(ctx, func(ctx context.Context, tx pgx.Tx) error {
		all, err := postgresStates(ctx, tx, name)
		if err != nil {
			return err
		}
		altered, err := c.Apply(all, version)
		if err != nil {
			return err
		}
		leaves, err := c.Leaves(all, altered)
		if err != nil {
			return err
		}
		if _, err := appendPostgres(ctx, tx, leaves...); err != nil {
			return err
		}
		at := time.UnixMicro(c.At.UnixMicro()).UTC()
		size, full := 0, false
		n = len(altered)
		return restate(ctx, tx, restatement{name: name, all: all, altered: altered,
			change: func(rec *registry.Record) {
				if rec.Status != c.Status {
					rec.Status, rec.StatusChangedAt = c.Status, at
				}
				rec.StatusMessage, rec.UpdatedAt = c.Message, at
			},
			use: func(rec registry.Record) {
				size += rec.PageSize()
				if full = full || len(records) > 0 && size > registry.PageBytes; !full {
					records = append(records, rec)
				}
			}})
	})
	if err != nil {
		return 0, nil, err
	}
	return n, records, nil
}

// restatement is a change of status that is to be written.
type restatement struct {
	name    string                 // whose versions change
	all     []registry.Record      // every version of name, with its new status
	altered []int                  // indexes in all of the records to change
	change  func(*registry.Record) // changes a record that was altered
	use     func(registry.Record)  // receives each changed record, in the order of altered
}

// restate changes the altered records of r and those whose is_latest changes, and renders
// all of them again.
func restate(ctx context.Context, tx pgx.Tx, r restatement) error {
	was, is := registry.LatestOf(r.all)
	touched := append([]int(nil), r.altered...)
	if is != was {
		// Clear the old latest first: an index allows one latest version for each name.
		if _, err := tx.Exec(ctx, "UPDATE servers SET is_latest = false WHERE name = $1 AND is_latest",
			r.name); err != nil {
			return err
		}
		touched = append(touched, is)
		if was >= 0 {
			touched = append(touched, was)
		}
	}
	done := map[string]bool{}
	for first := 0; first < len(touched); first += statusBatch {
		chunk := touched[first:min(first+statusBatch, len(touched))]
		var versions []string
		for _, i := range chunk {
			versions = append(versions, r.all[i].Version)
		}
		byVersion, err := readVersions(ctx, tx, r.name, versions)
		if err != nil {
			return err
		}
		var b pgx.Batch
		for n, i := range chunk {
			rec := byVersion[r.all[i].Version]
			if done[rec.Version] {
				continue
			}
			done[rec.Version] = true
			rec.IsLatest = i == is
			if first+n < len(r.altered) {
				r.change(&rec)
				r.use(rec)
			}
			if err := rewrite(&b, rec); err != nil {
				return err
			}
		}
		if err := tx.SendBatch(ctx, &b).Close(); err != nil {
			return err
		}
	}
	return nil
}

// readVersions reads records of a name with their documents, by version.
func readVersions(ctx context.Context, tx pgx.Tx, name string, versions []string) (map[string]registry.Record, error) {
	read, err := sqldb.All(ctx, statements(tx), scanOriginal,
		"SELECT "+original+fromBoth+"WHERE s.name = $1 AND s.version = ANY ($2)", name, versions)
	if err != nil {
		return nil, err
	}
	byVersion := map[string]registry.Record{}
	for _, rec := range read {
		byVersion[rec.Version] = rec
	}
	return byVersion, nil
}

// postgresStates are the [sqldb.Statements.States] of the versions of a name.
func postgresStates(ctx context.Context, tx pgx.Tx, name string) ([]registry.Record, error) {
	return statements(tx).States(ctx, name, "servers WHERE name = $1", name)
}
