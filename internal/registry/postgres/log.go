package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/sqldb"
	"github.com/hallmark-mcp/hallmark/ledger"
)

// queueEdge adds the question for the edge of the log to a batch of a transaction that
// has the lock.
func queueEdge(b *pgx.Batch, edge *ledger.Edge) {
	b.Queue("SELECT edge FROM log_head").QueryRow(func(row pgx.Row) error {
		var raw []byte
		if err := row.Scan(&raw); err != nil {
			return err
		}
		var err error
		if *edge, err = ledger.ParseEdge(raw); err != nil {
			return fmt.Errorf("log: %w", err)
		}
		return nil
	})
}

// queueLog adds the statements to a batch that append leaves to the log with that edge.
func queueLog(
	ctx context.Context, tx pgx.Tx, b *pgx.Batch, edge ledger.Edge, leaves []ledger.Leaf,
) (*sqldb.LogAddition, error) {
	a, err := sqldb.ExtendLog(edge, leaves, func(level int, first int64, n int) ([]tlog.Hash, error) {
		return postgresHashes(ctx, tx, level, first, n)
	})
	if err != nil {
		return nil, err
	}
	var (
		kinds, names, versions []string
		hashes                 [][]byte
	)
	for i, l := range a.Leaves {
		kinds, names, versions = append(kinds, string(l.Kind)), append(names, l.Name), append(versions, l.Version)
		hashes = append(hashes, a.Hashes[i][:])
	}
	b.Queue(`INSERT INTO log_entries (idx, kind, name, version, leaf, hash)
		SELECT $1 + n - 1, kind, name, version, leaf, hash
		FROM unnest($2::text[], $3::text[], $4::text[], $5::bytea[], $6::bytea[])
			WITH ORDINALITY AS u (kind, name, version, leaf, hash, n)`,
		a.First, kinds, names, versions, a.Texts, hashes)
	for _, n := range a.Nodes {
		b.Queue("INSERT INTO log_nodes (level, idx, hash) VALUES ($1, $2, $3)", n.Level, n.Index, n.Hash[:])
	}
	b.Queue("UPDATE log_head SET edge = $1", a.Edge.Marshal())
	return a, nil
}

// appendPostgres appends leaves within a transaction that has the lock, and returns the
// index of the first.
func appendPostgres(ctx context.Context, tx pgx.Tx, leaves ...ledger.Leaf) (int64, error) {
	var edge ledger.Edge
	var read, written pgx.Batch
	queueEdge(&read, &edge)
	if err := tx.SendBatch(ctx, &read).Close(); err != nil {
		return 0, err
	}
	a, err := queueLog(ctx, tx, &written, edge, leaves)
	if err != nil {
		return 0, err
	}
	return a.First, tx.SendBatch(ctx, &written).Close()
}

// rowser is a pool or a transaction.
type rowser interface {
	Query(ctx context.Context, query string, args ...any) (pgx.Rows, error)
}

func postgresHashes(ctx context.Context, q rowser, level int, first int64, n int) ([]tlog.Hash, error) {
	query, args := "SELECT idx, hash FROM log_entries WHERE idx >= $1 AND idx < $2 ORDER BY idx",
		[]any{first, first + int64(n)}
	if level > 0 {
		query, args = "SELECT idx, hash FROM log_nodes WHERE idx >= $1 AND idx < $2 AND level = $3 ORDER BY idx",
			append(args, level)
	}
	rows, err := q.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	hashes, err := sqldb.ReadHashes(rows, first)
	if err != nil {
		return nil, err
	}
	rows.Close()
	return hashes, rows.Err()
}

// LogHashes implements [registry.Entries].
func (p *DB) LogHashes(ctx context.Context, level int, first int64, n int) (hashes []tlog.Hash, err error) {
	err = p.read(ctx, func(ctx context.Context) error {
		hashes, err = postgresHashes(ctx, p.pool, level, first, n)
		return err
	})
	return hashes, err
}

// LogEntries implements [registry.Entries].
func (p *DB) LogEntries(ctx context.Context, first int64, n int) (out [][]byte, err error) {
	err = p.read(ctx, func(ctx context.Context) error {
		rows, err := p.pool.Query(ctx, "SELECT leaf FROM log_entries WHERE idx >= $1 AND idx < $2 ORDER BY idx", first,
			first+int64(n))
		if err != nil {
			return err
		}
		out, err = pgx.CollectRows(rows, pgx.RowTo[[]byte])
		return err
	})
	return out, err
}

// LogIndex implements [registry.Entries].
func (p *DB) LogIndex(ctx context.Context, kind ledger.Kind, name, version string) (index int64, err error) {
	if !registry.Storable(name, version) {
		return 0, registry.ErrNotFound
	}
	err = p.read(ctx, func(ctx context.Context) error {
		err := p.pool.QueryRow(ctx, `SELECT idx FROM log_entries
			WHERE name = $1 AND version = $2 AND kind = $3 AND kind NOT IN ('status', 'finding')`,
			name, version, string(kind)).Scan(&index)
		if errors.Is(err, pgx.ErrNoRows) {
			return registry.ErrNotFound
		}
		return err
	})
	return index, err
}

// LogLater implements [registry.Entries].
func (p *DB) LogLater(ctx context.Context, of ledger.Kind, name, version string, n int) (later []int64, err error) {
	if !registry.Storable(name, version) {
		return nil, nil
	}
	err = p.read(ctx, func(ctx context.Context) error {
		rows, err := p.pool.Query(ctx, `(SELECT idx FROM log_entries
				WHERE name = $1 AND version = $2 AND kind = 'status'
					AND convert_from(leaf, 'UTF8')::json ->> 'of' = $3 ORDER BY idx DESC LIMIT $4)
			UNION ALL (SELECT idx FROM log_entries
				WHERE name = $1 AND version = $2 AND kind = 'finding'
					AND convert_from(leaf, 'UTF8')::json ->> 'of' = $3 ORDER BY idx DESC LIMIT $4)
			ORDER BY idx`, name, version, string(of), n)
		if err != nil {
			return err
		}
		later, err = pgx.CollectRows(rows, pgx.RowTo[int64])
		return err
	})
	return later, err
}

// LogSettled implements [registry.Entries]. With synchronous replication it commits something of
// its own, which is on the standby after everything that was committed here before.
func (p *DB) LogSettled(ctx context.Context) error {
	return p.read(ctx, func(ctx context.Context) error {
		conn, err := p.pool.Acquire(ctx)
		if err != nil {
			return err
		}
		defer conn.Release()
		var replicated bool
		if err := conn.QueryRow(ctx,
			"SELECT coalesce(current_setting('synchronous_standby_names', true), '') <> ''").Scan(&replicated); err !=
			nil || !replicated {
			return err
		}
		custom := conn.Conn().PgConn().CustomData()
		delete(custom, warnedKey)
		if _, err := conn.Exec(ctx, "SELECT pg_logical_emit_message(true, 'hallmark', '')"); err != nil {
			return err
		}
		if custom[warnedKey] != nil { // if somebody cancels the wait, the server warns and reports no error
			return fmt.Errorf("%w: the database did not wait for its standby", registry.ErrUnavailable)
		}
		return nil
	})
}

// LogState implements [registry.Entries].
func (p *DB) LogState(ctx context.Context) (state registry.LogState, err error) {
	err = p.read(ctx, func(ctx context.Context) error {
		var raw []byte
		if err := p.pool.QueryRow(ctx, "SELECT edge, signed, cosigned FROM log_head").Scan(&raw, &state.Signed,
			&state.Cosigned); err != nil {
			return err
		}
		edge, err := ledger.ParseEdge(raw)
		if err != nil {
			return fmt.Errorf("log: %w", err)
		}
		state.Size = edge.Size
		return nil
	})
	return state, err
}

// SetLogState implements [registry.Entries].
func (p *DB) SetLogState(ctx context.Context, state registry.LogState) error {
	return p.read(ctx, func(ctx context.Context) error { // writing it twice does no harm
		_, err := p.pool.Exec(ctx, "UPDATE log_head SET signed = $1, cosigned = $2", state.Signed, state.Cosigned)
		return err
	})
}

// fillLog gives records that are older than the log their entries, by name and version.
func (p *DB) fillLog(ctx context.Context) error {
	var at registry.Cursor
	for done := false; !done; {
		err := p.alone(ctx, func(ctx context.Context, tx pgx.Tx) error {
			if err := tx.QueryRow(ctx, "SELECT complete FROM log_head").Scan(&done); err != nil || done {
				return err
			}
			rows, err := tx.Query(ctx, "SELECT "+sqldb.UnloggedColumns+` FROM servers s
				WHERE (s.name, s.version) > ($1, $2)
					AND NOT EXISTS (SELECT FROM log_entries l WHERE l.name = s.name AND l.version = s.version
						AND l.kind = 'server' AND l.kind NOT IN ('status', 'finding'))
				ORDER BY s.name, s.version LIMIT $3`, at.Name, at.Version, sqldb.FillAtOnce)
			if err != nil {
				return err
			}
			of, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) ([]ledger.Leaf, error) {
				return sqldb.UnloggedLeaves(row, &at)
			})
			if err != nil {
				return err
			}
			if len(of) == 0 {
				done = true
				_, err := tx.Exec(ctx, "UPDATE log_head SET complete = true")
				return err
			}
			_, err = appendPostgres(ctx, tx, slices.Concat(of...)...)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
