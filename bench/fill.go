package main

import (
	"context"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	registrypostgres "github.com/hallmark-mcp/hallmark/internal/registry/postgres"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/serverjson"
	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"
)

// published is when the first row was published; each is a second later.
var published = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// fillOurs inserts rows as publishes do.
func fillOurs(ctx context.Context, database string, rows []row) error {
	db, err := registrypostgres.Open(ctx, database)
	if err != nil {
		return err
	}
	defer db.Close()
	group, filling := errgroup.WithContext(ctx)
	group.SetLimit(256)
	for i, r := range rows {
		group.Go(func() error {
			canonical, err := serverjson.Canonical(r.document)
			if err != nil {
				return err
			}
			at := published.Add(time.Duration(i) * time.Second)
			rec := registry.Record{Name: r.name, Version: r.version, Document: r.document,
				Digest: digest.FromBytes(canonical),
				Build:  "bench", PublishedAt: at, UpdatedAt: at, StatusChangedAt: at}
			admitted := policy.Judge(policy.Accept, policy.Settings{}, evidence.Report{evidence.Compare(
				evidence.Claim{Subject: rec.Subject(), Scheme: evidence.Document, Authority: evidence.Publisher},
				evidence.Observed{Digests: []digest.Digest{rec.Digest}})}).Admitted()
			_, err = db.Insert(filling, admitted, rec)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return analyze(ctx, database)
}

// fillOfficial copies rows into the official registry's table, whose migrations have
// run, with the prepared form of each that its own backfill would make.
func fillOfficial(ctx context.Context, database string, rows []row) error {
	conn, err := pgx.Connect(ctx, database)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	columns := []string{"server_name", "version", "status", "status_changed_at", "published_at", "updated_at",
		"is_latest", "value", "listing_value", "listing_codec"}
	_, err = conn.CopyFrom(ctx, pgx.Identifier{"servers"}, columns,
		pgx.CopyFromSlice(len(rows), func(i int) ([]any, error) {
			at := published.Add(time.Duration(i) * time.Second)
			r := rows[i]
			return []any{r.name, r.version, "active", at, at, at, r.latest, string(r.document), r.document, int32(1)},
				nil
		}))
	if err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, "ALTER TABLE servers ALTER COLUMN updated_at SET STATISTICS 1000"); err != nil {
		return err
	}
	return analyze(ctx, database)
}

func analyze(ctx context.Context, database string) error {
	conn, err := pgx.Connect(ctx, database)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, "VACUUM (ANALYZE)"); err != nil {
		return err
	}
	_, err = conn.Exec(ctx, "CHECKPOINT")
	return err
}
