package sqlite

import (
	"context"
	"database/sql"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/registry/sqldb"
	"github.com/hallmark-mcp/hallmark/ledger"
)

// querier is a pool or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// statements are the statements as a pool or a transaction runs them.
func statements(q querier) sqldb.Statements {
	return sqldb.Statements{
		Query: func(ctx context.Context, statement string, args []any, each func(sqldb.Scan) (bool, error)) error {
			rows, err := q.QueryContext(ctx, statement, args...)
			if err != nil {
				return err
			}
			defer rows.Close()
			return sqldb.Each(rows, each)
		},
		Exec: func(ctx context.Context, statement string, args ...any) error {
			_, err := q.ExecContext(ctx, statement, args...)
			return err
		},
		Holds: func(text string, arg func(any) string) string {
			// A quoted string matches the names that hold it.
			return "name IN (SELECT name FROM archive_names WHERE archive_names MATCH " +
				arg(`"`+strings.ReplaceAll(text, `"`, `""`)+`"`) + " AND kind = $1)"
		},
		LeafOf: "leaf ->> 'of'",
	}
}

// inside are the statements as a transaction of the writer runs them.
func inside(tx *sql.Tx) sqldb.Statements {
	db := statements(tx)
	db.Append = func(ctx context.Context, leaves ...ledger.Leaf) (int64, error) {
		a, err := appendLog(ctx, tx, leaves...)
		if err != nil {
			return 0, err
		}
		return a.First, nil
	}
	db.Noted = func(ctx context.Context, kind, name string) error {
		return db.Exec(ctx, "INSERT INTO archive_names (name, kind) VALUES ($1, $2)", name, kind)
	}
	return db
}

// alone runs f in a transaction of the writer.
func (s *DB) alone(ctx context.Context, f func(*sql.Tx) error) error {
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := f(tx); err != nil {
		return err
	}
	return tx.Commit()
}

// shared is what s does as the other database does.
func (s *DB) shared() sqldb.Shared {
	alone := func(ctx context.Context, f func(context.Context, sqldb.Statements) error) error {
		return s.alone(ctx, func(tx *sql.Tx) error { return f(ctx, inside(tx)) })
	}
	return sqldb.Shared{
		Read: func(ctx context.Context, f func(context.Context, sqldb.Statements) error) error {
			return f(ctx, statements(s.read))
		},
		Write: alone, Alone: alone,
	}
}
