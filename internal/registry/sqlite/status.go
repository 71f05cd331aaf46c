package sqlite

import (
	"context"
	"database/sql"

	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/sqldb"
)

// SetStatus implements [registry.Statuses].
func (s *DB) SetStatus(
	ctx context.Context, name, version string, c registry.Change,
) (n int, records []registry.Record, err error) {
	err = s.alone(ctx, func(tx *sql.Tx) (err error) {
		n, records, err = setStatus(ctx, tx, name, version, c)
		return err
	})
	return n, records, err
}

// setStatus is SetStatus within a transaction beside which no other publish or change of the
// name runs.
func setStatus(
	ctx context.Context, tx *sql.Tx, name, version string, c registry.Change,
) (int, []registry.Record, error) {
	all, err := states(ctx, tx, name)
	if err != nil {
		return 0, nil, err
	}
	altered, err := c.Apply(all, version)
	if err != nil {
		return 0, nil, err
	}
	at := c.At.UnixMicro()
	for _, i := range altered {
		_, err := tx.ExecContext(ctx, `UPDATE servers SET
			status_changed_at = CASE WHEN status = $1 THEN status_changed_at ELSE $2 END,
			updated_at = $2, status = $1, status_message = $3
			WHERE name = $4 AND version = $5`, string(c.Status), at, c.Message, name, all[i].Version)
		if err != nil {
			return 0, nil, err
		}
	}
	if err := markLatest(ctx, tx, name, all); err != nil {
		return 0, nil, err
	}
	leaves, err := c.Leaves(all, altered)
	if err != nil {
		return 0, nil, err
	}
	if _, err := appendLog(ctx, tx, leaves...); err != nil {
		return 0, nil, err
	}
	records, err := sqldb.Changed(altered, func(i int) (registry.Record, error) {
		return one(ctx, tx, "name = ? AND version = ?", name, all[i].Version)
	})
	if err != nil {
		return 0, nil, err
	}
	return len(altered), records, nil
}

// markLatest marks the version of a name that has to be the latest, of all there are.
func markLatest(ctx context.Context, tx *sql.Tx, name string, all []registry.Record) error {
	was, is := registry.LatestOf(all)
	if is == was {
		return nil
	}
	// Clear the old one first: an index allows one latest version for each name.
	if was >= 0 {
		if _, err := tx.ExecContext(ctx, "UPDATE servers SET is_latest = 0 WHERE name = $1 AND version = $2", name,
			all[was].Version); err != nil {
			return err
		}
	}
	_, err := tx.ExecContext(ctx, "UPDATE servers SET is_latest = 1 WHERE name = $1 AND version = $2", name,
		all[is].Version)
	return err
}

// states are the [sqldb.Statements.States] of the versions of a name.
func states(ctx context.Context, tx *sql.Tx, name string) ([]registry.Record, error) {
	return statements(tx).States(ctx, name, "servers WHERE name = $1", name)
}
