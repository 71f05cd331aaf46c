package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

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
	edge, err := ledger.ParseEdge(raw)
	if err != nil {
		return nil, fmt.Errorf("log: %w", err)
	}
	a, err := sqldb.ExtendLog(edge, leaves, func(level int, first int64, n int) ([]tlog.Hash, error) {
		return sqliteHashes(ctx, tx, level, first, n)
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

// querier is a pool or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

func sqliteHashes(ctx context.Context, q querier, level int, first int64, n int) ([]tlog.Hash, error) {
	query, args := "SELECT idx, hash FROM log_entries WHERE idx >= ? ORDER BY idx LIMIT ?", []any{first, n}
	if level > 0 {
		query, args = "SELECT idx, hash FROM log_nodes WHERE level = ? AND idx >= ? ORDER BY idx LIMIT ?",
			[]any{level, first, n}
	}
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	hashes, err := sqldb.ReadHashes(rows, first)
	if err != nil {
		return nil, err
	}
	return hashes, rows.Err()
}

// LogHashes implements [registry.Entries].
func (s *DB) LogHashes(ctx context.Context, level int, first int64, n int) ([]tlog.Hash, error) {
	return sqliteHashes(ctx, s.read, level, first, n)
}

// LogEntries implements [registry.Entries].
func (s *DB) LogEntries(ctx context.Context, first int64, n int) ([][]byte, error) {
	rows, err := s.read.QueryContext(ctx, "SELECT leaf FROM log_entries WHERE idx >= ? AND idx < ? ORDER BY idx", first,
		first+int64(n))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out [][]byte
	for rows.Next() {
		var leaf string
		if err := rows.Scan(&leaf); err != nil {
			return nil, err
		}
		out = append(out, []byte(leaf))
	}
	return out, rows.Err()
}

// LogIndex implements [registry.Entries].
func (s *DB) LogIndex(ctx context.Context, kind ledger.Kind, name, version string) (index int64, err error) {
	err = s.read.QueryRowContext(ctx,
		"SELECT idx FROM log_entries WHERE kind = ? AND name = ? AND version = ? AND kind NOT IN ('status', 'finding')",
		string(kind), name, version).Scan(&index)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, registry.ErrNotFound
	}
	return index, err
}

// LogLater implements [registry.Entries].
func (s *DB) LogLater(ctx context.Context, of ledger.Kind, name, version string, n int) (later []int64, err error) {
	rows, err := s.read.QueryContext(ctx, `SELECT idx FROM (SELECT idx FROM log_entries
			WHERE name = ?1 AND version = ?2 AND kind IN ('status', 'finding') AND kind = 'status'
				AND leaf ->> 'of' = ?3 ORDER BY idx DESC LIMIT ?4)
		UNION ALL SELECT idx FROM (SELECT idx FROM log_entries
			WHERE name = ?1 AND version = ?2 AND kind IN ('status', 'finding') AND kind = 'finding'
				AND leaf ->> 'of' = ?3 ORDER BY idx DESC LIMIT ?4)
		ORDER BY idx`, name, version, string(of), n)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var index int64
		if err := rows.Scan(&index); err != nil {
			return nil, err
		}
		later = append(later, index)
	}
	return later, rows.Err()
}

// LogSettled implements [registry.Entries]. What can be read is on disk.
func (s *DB) LogSettled(context.Context) error { return nil }

// LogState implements [registry.Entries].
func (s *DB) LogState(ctx context.Context) (registry.LogState, error) {
	var state registry.LogState
	var raw []byte
	var cosigned sql.NullString
	if err := s.read.QueryRowContext(ctx, "SELECT edge, signed, cosigned FROM log_head").Scan(&raw, &state.Signed,
		&cosigned); err != nil {
		return registry.LogState{}, err
	}
	edge, err := ledger.ParseEdge(raw)
	if err != nil {
		return registry.LogState{}, fmt.Errorf("log: %w", err)
	}
	state.Size = edge.Size
	if cosigned.Valid {
		state.Cosigned = []byte(cosigned.String)
	}
	return state, nil
}

// SetLogState implements [registry.Entries].
func (s *DB) SetLogState(ctx context.Context, state registry.LogState) error {
	var cosigned any
	if state.Cosigned != nil {
		cosigned = string(state.Cosigned)
	}
	_, err := s.write.ExecContext(ctx, "UPDATE log_head SET signed = ?, cosigned = ?", state.Signed, cosigned)
	return err
}

// fillLog gives records that are older than the log their entries, by name and version.
func fillLog(ctx context.Context, db *sql.DB) error {
	var at registry.Cursor
	for {
		done, err := fillSome(ctx, db, &at)
		if err != nil || done {
			return err
		}
	}
}

// fillSome gives the next records after at their entries, in one transaction.
func fillSome(ctx context.Context, db *sql.DB, at *registry.Cursor) (done bool, err error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return false, err
	}
	defer tx.Rollback()
	if err := tx.QueryRowContext(ctx, "SELECT complete FROM log_head").Scan(&done); err != nil || done {
		return done, err
	}
	rows, err := tx.QueryContext(ctx, "SELECT "+sqldb.UnloggedColumns+` FROM servers s
		WHERE (s.name, s.version) > (?, ?)
			AND NOT EXISTS (SELECT 1 FROM log_entries l WHERE l.name = s.name AND l.version = s.version
				AND l.kind = 'server' AND l.kind NOT IN ('status', 'finding'))
		ORDER BY s.name, s.version LIMIT ?`, at.Name, at.Version, sqldb.FillAtOnce)
	if err != nil {
		return false, err
	}
	defer rows.Close()
	var leaves []ledger.Leaf
	for rows.Next() {
		more, err := sqldb.UnloggedLeaves(rows, at)
		if err != nil {
			return false, err
		}
		leaves = append(leaves, more...)
	}
	if err := rows.Err(); err != nil {
		return false, err
	}
	if len(leaves) == 0 {
		if _, err := tx.ExecContext(ctx, "UPDATE log_head SET complete = 1"); err != nil {
			return false, err
		}
		return true, tx.Commit()
	}
	if _, err := appendLog(ctx, tx, leaves...); err != nil {
		return false, err
	}
	return false, tx.Commit()
}
