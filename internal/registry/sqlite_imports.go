package registry

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// Progress implements [Imports].
func (s *SQLite) Progress(ctx context.Context, source string) (Progress, error) {
	var p Progress
	var since, began sql.NullInt64
	err := s.read.QueryRowContext(ctx, "SELECT cursor, since, began FROM imports WHERE source = ?", source).Scan(&p.Cursor, &since, &began)
	if errors.Is(err, sql.ErrNoRows) {
		return Progress{}, nil
	}
	if since.Valid {
		p.Since = time.UnixMicro(since.Int64).UTC()
	}
	if began.Valid {
		p.Began = time.UnixMicro(began.Int64).UTC()
	}
	return p, err
}

// SetProgress implements [Imports].
func (s *SQLite) SetProgress(ctx context.Context, source string, p Progress) error {
	_, err := s.write.ExecContext(ctx, `INSERT INTO imports (source, cursor, since, began) VALUES (?, ?, ?, ?)
		ON CONFLICT (source) DO UPDATE SET cursor = excluded.cursor, since = excluded.since, began = excluded.began`,
		source, p.Cursor, micros(p.Since), micros(p.Began))
	return err
}

// Follow implements [Imports].
func (s *SQLite) Follow(ctx context.Context, rec Record) (bool, error) {
	rec = rec.normal()
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return false, err
	}
	defer tx.Rollback()
	result, err := tx.ExecContext(ctx, `UPDATE servers SET status = ?, status_message = ?, status_changed_at = ?, updated_at = ?
		WHERE name = ? AND version = ? AND origin = ? AND origin <> '' AND status_changed_at < ? AND (status <> ? OR status_message <> ?)`,
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
	leaf, err := rec.followed()
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
