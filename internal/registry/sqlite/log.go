package sqlite

import (
	"context"
	"database/sql"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/sqldb"
	"github.com/hallmark-mcp/hallmark/ledger"
)

// appendLog appends leaves to the log within a transaction.
func appendLog(ctx context.Context, tx *sql.Tx, leaves ...ledger.Leaf) (*sqldb.LogAddition, error) {
	var raw []byte
	if err := tx.QueryRowContext(ctx, "SELECT edge FROM log_head").Scan(&raw); err != nil {
		return nil, err
	}
	edge, err := sqldb.ParseEdge(raw)
	if err != nil {
		return nil, err
	}
	a, err := sqldb.ExtendLog(edge, leaves, func(level int, first int64, n int) ([]tlog.Hash, error) {
		return statements(tx).Hashes(ctx, level, first, n)
	})
	if err != nil {
		return nil, err
	}
	for i, l := range a.Leaves {
		_, err := tx.ExecContext(ctx,
			"INSERT INTO log_entries (idx, kind, name, version, leaf, hash) VALUES (?, ?, ?, ?, ?, ?)",
			a.First+int64(i), string(l.Kind), l.Name, l.Version, string(a.Texts[i]), a.Hashes[i][:])
		if err != nil {
			return nil, err
		}
	}
	for _, n := range a.Nodes {
		if _, err := tx.ExecContext(ctx, "INSERT INTO log_nodes (level, idx, hash) VALUES (?, ?, ?)", n.Level, n.Index,
			n.Hash[:]); err != nil {
			return nil, err
		}
	}
	_, err = tx.ExecContext(ctx, "UPDATE log_head SET edge = ?", a.Edge.Marshal())
	return a, err
}

// LogSettled implements [registry.Entries]. What can be read is on disk.
func (s *DB) LogSettled(context.Context) error { return nil }

// SetLogState implements [registry.Entries].
func (s *DB) SetLogState(ctx context.Context, state registry.LogState) error {
	var cosigned any
	if state.Cosigned != nil {
		cosigned = string(state.Cosigned)
	}
	_, err := s.write.ExecContext(ctx, "UPDATE log_head SET signed = ?, cosigned = ?", state.Signed, cosigned)
	return err
}
