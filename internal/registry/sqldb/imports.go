package sqldb

import (
	"context"
	"errors"
	"time"

	"github.com/hallmark-mcp/hallmark/internal/registry"
)

// Progress implements [registry.Imports].
func (s Shared) Progress(ctx context.Context, source string) (registry.Progress, error) {
	if !registry.Storable(source) {
		return registry.Progress{}, nil
	}
	at, err := reading(ctx, s, func(ctx context.Context, db Statements) (registry.Progress, error) {
		return One(ctx, db, scanProgress, "SELECT cursor, since, began FROM imports WHERE source = $1", source)
	})
	if errors.Is(err, registry.ErrNotFound) {
		return registry.Progress{}, nil
	}
	return at, err
}

func scanProgress(scan Scan) (at registry.Progress, err error) {
	var since, began *int64
	err = scan(&at.Cursor, &since, &began)
	at.Since, at.Began = Time(since), Time(began)
	return at, err
}

// SetProgress implements [registry.Imports].
func (s Shared) SetProgress(ctx context.Context, source string, at registry.Progress) error {
	return s.Write(ctx, func(ctx context.Context, db Statements) error {
		return db.Exec(ctx, `INSERT INTO imports (source, cursor, since, began) VALUES ($1, $2, $3, $4)
			ON CONFLICT (source) DO UPDATE SET cursor = excluded.cursor, since = excluded.since,
				began = excluded.began`,
			source, at.Cursor, Micros(at.Since), Micros(at.Began))
	})
}

// Micros is a time as it is stored: microseconds since 1970, null for the zero time.
func Micros(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	return new(t.UnixMicro())
}

// Time is the time of what Micros stored.
func Time(micros *int64) time.Time {
	if micros == nil {
		return time.Time{}
	}
	return time.UnixMicro(*micros).UTC()
}
