package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/stdlib"

	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/sqldb"
)

// Tokens are the API tokens of the same database.
func (p *DB) Tokens() registry.Tokens {
	db := stdlib.OpenDBFromPool(p.pool)
	return postgresTokens{p, sqldb.Tokens{Write: db, Read: db}}
}

// postgresTokens survives a restart of the database, as [DB] does.
type postgresTokens struct {
	db  *DB
	sql sqldb.Tokens
}

func (t postgresTokens) Add(ctx context.Context, token registry.Token, hash string) error {
	return unavailable(t.sql.Add(ctx, token, hash)) // no second try: the first may have been committed
}

func (t postgresTokens) Find(ctx context.Context, hash string) (found registry.Token, err error) {
	err = t.db.read(ctx, func(ctx context.Context) error {
		found, err = t.sql.Find(ctx, hash)
		return err
	})
	return found, err
}

func (t postgresTokens) List(ctx context.Context) (all []registry.Token, err error) {
	err = t.db.read(ctx, func(ctx context.Context) error {
		all, err = t.sql.List(ctx)
		return err
	})
	return all, err
}

func (t postgresTokens) Revoke(ctx context.Context, id string, at time.Time) (revoked registry.Token, err error) {
	if !registry.Storable(id) {
		return registry.Token{}, registry.ErrNotFound
	}
	err = t.db.read(ctx, func(ctx context.Context) error { // writing it twice does no harm
		revoked, err = t.sql.Revoke(ctx, id, at)
		return err
	})
	return revoked, err
}
