package registry

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/stdlib"
)

// Tokens are the API tokens of the same database.
func (p *Postgres) Tokens() Tokens {
	db := stdlib.OpenDBFromPool(p.pool)
	return postgresTokens{p, sqlTokens{db, db}}
}

// postgresTokens survives a restart of the database, as [Postgres] does.
type postgresTokens struct {
	db  *Postgres
	sql sqlTokens
}

func (t postgresTokens) Add(ctx context.Context, token Token, hash string) error {
	return unavailable(t.sql.Add(ctx, token, hash)) // once: nobody knows what became of it
}

func (t postgresTokens) Find(ctx context.Context, hash string) (found Token, err error) {
	err = t.db.read(ctx, func(ctx context.Context) error {
		found, err = t.sql.Find(ctx, hash)
		return err
	})
	return found, err
}

func (t postgresTokens) List(ctx context.Context) (all []Token, err error) {
	err = t.db.read(ctx, func(ctx context.Context) error {
		all, err = t.sql.List(ctx)
		return err
	})
	return all, err
}

func (t postgresTokens) Revoke(ctx context.Context, id string, at time.Time) (revoked Token, err error) {
	if !storable(id) {
		return Token{}, ErrNotFound
	}
	err = t.db.read(ctx, func(ctx context.Context) error { // it can be said twice
		revoked, err = t.sql.Revoke(ctx, id, at)
		return err
	})
	return revoked, err
}
