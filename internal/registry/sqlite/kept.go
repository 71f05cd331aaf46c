package sqlite

import (
	"context"
	"database/sql"

	"github.com/hallmark-mcp/hallmark/internal/registry"
)

// AddFinding implements [registry.Findings].
func (s *DB) AddFinding(ctx context.Context, f registry.Finding) error {
	f = f.Normal()
	return s.alone(ctx, func(tx *sql.Tx) error {
		rec, err := one(ctx, tx, "name = ? AND version = ?", f.Name, f.Version)
		if err != nil {
			return err
		}
		return inside(tx).AddFinding(ctx, f, rec.Findings,
			"UPDATE servers SET findings = ? WHERE name = ? AND version = ?",
			"INSERT INTO findings (name, version, found_at, build, evidence) VALUES (?, ?, ?, ?, ?)", f.Name, f.Version)
	})
}

// Follow implements [registry.Imports].
func (s *DB) Follow(ctx context.Context, rec registry.Record) (followed bool, err error) {
	rec = rec.Normal()
	err = s.alone(ctx, func(tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx,
			`UPDATE servers SET status = ?, status_message = ?, status_changed_at = ?, updated_at = ?
			WHERE name = ? AND version = ? AND origin = ? AND origin <> '' AND status_changed_at < ?
				AND (status <> ? OR status_message <> ?)`,
			string(rec.Status), rec.StatusMessage, rec.StatusChangedAt.UnixMicro(), rec.UpdatedAt.UnixMicro(),
			rec.Name, rec.Version, rec.Origin, rec.StatusChangedAt.UnixMicro(), string(rec.Status), rec.StatusMessage)
		if err != nil {
			return err
		}
		if n, err := result.RowsAffected(); err != nil || n == 0 {
			return err
		}
		all, err := states(ctx, tx, rec.Name)
		if err != nil {
			return err
		}
		if err := markLatest(ctx, tx, rec.Name, all); err != nil {
			return err
		}
		leaf, err := rec.FollowedLeaf()
		if err != nil {
			return err
		}
		followed = true
		_, err = appendLog(ctx, tx, leaf)
		return err
	})
	return followed && err == nil, err
}
