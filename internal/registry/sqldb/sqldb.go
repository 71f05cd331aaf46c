// Package sqldb has what the databases of a registry share: the steps of their schemas, and what SQLite and PostgreSQL
// do by the same statements: with the records of archives, findings, imports, tokens and the entries of the log.
package sqldb

import (
	"context"

	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/ledger"
)

// Shared implements what both databases do by the same statements: [registry.ArchiveRecords], and much of
// [registry.Entries], [registry.Findings] and [registry.Imports].
type Shared struct {
	// Read runs f, which only reads. It may run it once more.
	Read func(ctx context.Context, f func(context.Context, Statements) error) error

	// Write runs f in a transaction, and commits. It does not wait for the writes of Alone where the database lets
	// others run beside them.
	Write func(ctx context.Context, f func(context.Context, Statements) error) error

	// Alone runs f in a transaction beside which no other write runs, and commits.
	Alone func(ctx context.Context, f func(context.Context, Statements) error) error
}

// Statements are run by a connection or a transaction.
type Statements struct {
	// Query calls each for every row of the result, until more is false.
	Query func(ctx context.Context, statement string, args []any,
		each func(scan Scan) (more bool, err error)) error
	Exec func(ctx context.Context, statement string, args ...any) error

	// Holds returns the condition that a name contains text; arg adds an argument and returns
	// its placeholder.
	Holds func(text string, arg func(any) string) (condition string)

	LeafOf string // the member "of" of the leaf of an entry of the log

	// These run only in a transaction of Alone.
	Append func(ctx context.Context, leaves ...ledger.Leaf) (first int64, err error) // to the log
	Noted  func(ctx context.Context, kind, name string) error                        // a new name, for Holds
}

// Scan reads the columns of a row.
type Scan = func(to ...any) error

// Each calls f for every row until more is false.
func Each(rows interface {
	Next() bool
	Scan(...any) error
	Err() error
}, f func(Scan) (more bool, err error)) error {
	for rows.Next() {
		if more, err := f(rows.Scan); err != nil || !more {
			return err
		}
	}
	return rows.Err()
}

// All reads every row of a statement.
func All[T any](
	ctx context.Context, s Statements, read func(Scan) (T, error), statement string, args ...any,
) (all []T, err error) {
	err = s.Query(ctx, statement, args, func(scan Scan) (bool, error) {
		v, err := read(scan)
		if err != nil {
			return false, err
		}
		all = append(all, v)
		return true, nil
	})
	return all, err
}

// One reads the first row of a statement, or returns ErrNotFound.
func One[T any](
	ctx context.Context, s Statements, read func(Scan) (T, error), statement string, args ...any,
) (v T, err error) {
	err = registry.ErrNotFound
	if failed := s.Query(ctx, statement, args, func(scan Scan) (bool, error) {
		v, err = read(scan)
		return false, err
	}); failed != nil {
		err = failed
	}
	return v, err
}

// Page reads a statement, which gives one row more than limit if there are more, for at most limit
// records and about registry.PageBytes bytes. The cursor names the last record if there are more.
func Page[T Record](
	ctx context.Context, s Statements, read func(Scan) (T, error), limit int, statement string, args ...any,
) (page []T, next string, err error) {
	size := 0
	err = s.Query(ctx, statement, args, func(scan Scan) (bool, error) {
		rec, err := read(scan)
		if err != nil {
			return false, err
		}
		size += rec.PageSize()
		if n := len(page); n == limit || n > 0 && size > registry.PageBytes {
			next = page[n-1].Cursor().String()
			return false, nil
		}
		page = append(page, rec)
		return true, nil
	})
	return page, next, err
}

// Record is one that a page can have.
type Record interface {
	PageSize() int
	Cursor() registry.Cursor
}

// column reads a row of one column.
func column[T any](scan Scan) (v T, err error) {
	err = scan(&v)
	return v, err
}

// reading returns what f reads.
func reading[T any](
	ctx context.Context, s Shared, f func(context.Context, Statements) (T, error),
) (v T, err error) {
	err = s.Read(ctx, func(ctx context.Context, db Statements) (err error) {
		v, err = f(ctx, db)
		return err
	})
	return v, err
}
