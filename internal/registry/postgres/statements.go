package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/hallmark-mcp/hallmark/internal/registry/sqldb"
	"github.com/hallmark-mcp/hallmark/ledger"
)

// querier is a pool or a transaction.
type querier interface {
	Query(ctx context.Context, query string, args ...any) (pgx.Rows, error)
	Exec(ctx context.Context, statement string, args ...any) (pgconn.CommandTag, error)
}

// statements are the statements as a pool or a transaction runs them.
func statements(q querier) sqldb.Statements {
	return sqldb.Statements{
		Query: func(ctx context.Context, statement string, args []any, each func(sqldb.Scan) (bool, error)) error {
			rows, err := q.Query(ctx, statement, args...)
			if err != nil {
				return err
			}
			defer rows.Close()
			return sqldb.Each(rows, each)
		},
		Exec: func(ctx context.Context, statement string, args ...any) error {
			_, err := q.Exec(ctx, statement, args...)
			return err
		},
		Holds: func(text string, arg func(any) string) string {
			return "name IN (SELECT name FROM archive_names WHERE grams @> " + arg(grams(text)) + " AND kind = $1)"
		},
		LeafOf: "convert_from(leaf, 'UTF8')::json ->> 'of'",
	}
}

// inside are the statements as a transaction runs them that has the lock.
func inside(tx pgx.Tx) sqldb.Statements {
	db := statements(tx)
	db.Append = func(ctx context.Context, leaves ...ledger.Leaf) (int64, error) {
		return appendPostgres(ctx, tx, leaves...)
	}
	db.Noted = func(ctx context.Context, kind, name string) error {
		return db.Exec(ctx, "INSERT INTO archive_names (kind, name, grams) VALUES ($1, $2, $3)", kind, name,
			grams(name))
	}
	return db
}

// shared is what p does as the other database does.
func (p *DB) shared() sqldb.Shared {
	return sqldb.Shared{
		Read: func(ctx context.Context, f func(context.Context, sqldb.Statements) error) error {
			return p.read(ctx, func(ctx context.Context) error { return f(ctx, statements(p.pool)) })
		},
		Write: func(ctx context.Context, f func(context.Context, sqldb.Statements) error) error {
			nothing := func(context.Context, pgx.Tx) error { return nil }
			return p.inTransaction(ctx, nothing,
				func(ctx context.Context, tx pgx.Tx) error { return f(ctx, statements(tx)) })
		},
		Alone: func(ctx context.Context, f func(context.Context, sqldb.Statements) error) error {
			return p.alone(ctx, func(ctx context.Context, tx pgx.Tx) error { return f(ctx, inside(tx)) })
		},
	}
}
