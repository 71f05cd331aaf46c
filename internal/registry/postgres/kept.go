package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/hallmark-mcp/hallmark/internal/registry"
)

// AddFinding implements [registry.Findings].
func (p *DB) AddFinding(ctx context.Context, f registry.Finding) error {
	if !registry.Storable(f.Name, f.Version) {
		return registry.ErrNotFound
	}
	if !registry.Storable(f.Build) {
		return errors.New("finding: build: not UTF-8 without NUL")
	}
	f = f.Normal()
	leaf, err := f.Leaf()
	if err != nil {
		return err
	}
	return p.alone(ctx, func(ctx context.Context, tx pgx.Tx) error {
		rec, err := one(ctx, tx, "s.name = $1 AND s.version = $2", f.Name, f.Version)
		if err != nil {
			return err
		}
		newest := append([]registry.Finding{f}, rec.Findings...)
		rec.Findings = newest[:min(len(newest), registry.MaxFindings)]
		var b pgx.Batch
		if err := rewrite(&b, rec); err != nil {
			return err
		}
		b.Queue("INSERT INTO findings (name, version, found_at, build, evidence) VALUES ($1, $2, $3, $4, $5)",
			f.Name, f.Version, f.At.UnixMicro(), f.Build, []byte(f.Evidence))
		if err := tx.SendBatch(ctx, &b).Close(); err != nil {
			return err
		}
		_, err = appendPostgres(ctx, tx, leaf)
		return err
	})
}

// Follow implements [registry.Imports].
func (p *DB) Follow(ctx context.Context, rec registry.Record) (followed bool, err error) {
	if rec.Origin == "" || !registry.Storable(rec.Name, rec.Version, rec.Origin, rec.StatusMessage) {
		return false, nil
	}
	rec = rec.Normal()
	err = p.alone(ctx, func(ctx context.Context, tx pgx.Tx) error {
		var changes bool
		err := tx.QueryRow(ctx,
			`SELECT origin = $3 AND status_changed_at < $4 AND (status <> $5 OR status_message <> $6)
			FROM servers WHERE name = $1 AND version = $2`,
			rec.Name, rec.Version, rec.Origin, rec.StatusChangedAt.UnixMicro(), string(rec.Status),
			rec.StatusMessage).Scan(&changes)
		if errors.Is(err, pgx.ErrNoRows) || err == nil && !changes {
			return nil
		}
		if err != nil {
			return err
		}
		all, err := postgresStates(ctx, tx, rec.Name)
		if err != nil {
			return err
		}
		altered, err := registry.Change{Status: rec.Status, Message: rec.StatusMessage}.Apply(all, rec.Version)
		if err != nil {
			return err
		}
		followed = true
		leaf, err := rec.FollowedLeaf()
		if err != nil {
			return err
		}
		if _, err := appendPostgres(ctx, tx, leaf); err != nil {
			return err
		}
		return restate(ctx, tx, restatement{name: rec.Name, all: all, altered: altered,
			change: func(kept *registry.Record) {
				kept.Status, kept.StatusMessage = rec.Status, rec.StatusMessage
				kept.StatusChangedAt, kept.UpdatedAt = rec.StatusChangedAt, rec.UpdatedAt
			},
			use: func(registry.Record) {}})
	})
	return followed && err == nil, err
}
