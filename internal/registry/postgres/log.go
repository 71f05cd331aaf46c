package postgres

import (
	"context"
	"fmt"

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
		*edge, err = sqldb.ParseEdge(raw)
		return err
	})
}

// queueLog adds the statements to a batch that append leaves to the log with that edge.
func queueLog(
	ctx context.Context, tx pgx.Tx, b *pgx.Batch, edge ledger.Edge, leaves []ledger.Leaf,
) (*sqldb.LogAddition, error) {
	a, err := sqldb.ExtendLog(edge, leaves, func(level int, first int64, n int) ([]tlog.Hash, error) {
		return statements(tx).Hashes(ctx, level, first, n)
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

// SetLogState implements [registry.Entries].
func (p *DB) SetLogState(ctx context.Context, state registry.LogState) error {
	return p.read(ctx, func(ctx context.Context) error { // writing it twice does no harm
		_, err := p.pool.Exec(ctx, "UPDATE log_head SET signed = $1, cosigned = $2", state.Signed, state.Cosigned)
		return err
	})
}
