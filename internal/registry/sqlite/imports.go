package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/sqldb"
)

// Progress implements [registry.Imports].
func (s *DB) Progress(ctx context.Context, source string) (registry.Progress, error) {
	var p registry.Progress
	var since, began sql.NullInt64
	err := s.read.QueryRowContext(ctx, "SELECT cursor, since, began FROM imports WHERE source = ?",
		source).Scan(&p.Cursor, &since, &began)
	if errors.Is(err, sql.ErrNoRows) {
		return registry.Progress{}, nil
	}
	if since.Valid {
		p.Since = time.UnixMicro(since.Int64).UTC()
	}
	if began.Valid {
		p.Began = time.UnixMicro(began.Int64).UTC()
	}
	return p, err
}

// SetProgress implements [registry.Imports].
func (s *DB) SetProgress(ctx context.Context, source string, p registry.Progress) error {
	_, err := s.write.ExecContext(ctx, `INSERT INTO imports (source, cursor, since, began) VALUES (?, ?, ?, ?)
		ON CONFLICT (source) DO UPDATE SET cursor = excluded.cursor, since = excluded.since, began = excluded.began`,
		source, p.Cursor, sqldb.Micros(p.Since), sqldb.Micros(p.Began))
	return err
}

// Follow implements [registry.Imports].
func (s *DB) Follow(ctx context.Context, rec registry.Record) (bool, error) {
	rec = rec.Normal()
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return false, err
	}
	defer tx.Rollback()
	result, err := tx.ExecContext(ctx,
		`UPDATE servers SET status = ?, status_message = ?, status_changed_at = ?, updated_at = ?
		WHERE name = ? AND version = ? AND origin = ? AND origin <> '' AND status_changed_at < ?
			AND (status <> ? OR status_message <> ?)`,
		string(rec.Status), rec.StatusMessage, rec.StatusChangedAt.UnixMicro(), rec.UpdatedAt.UnixMicro(),
		rec.Name, rec.Version, rec.Origin, rec.StatusChangedAt.UnixMicro(), string(rec.Status), rec.StatusMessage)
	if err != nil {
		return false, err
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return false, err
	}
	all, err := states(ctx, tx, rec.Name)
	if err != nil {
		return false, err
	}
	if err := markLatest(ctx, tx, rec.Name, all); err != nil {
		return false, err
	}
	leaf, err := rec.FollowedLeaf()
	if err != nil {
		return false, err
	}
	if _, err := appendLog(ctx, tx, leaf); err != nil {
		return false, err
	}
	if err := tx.Commit(); err != nil {
		return false, err
	}
	return true, nil
}
