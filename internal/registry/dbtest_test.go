package registry

import (
	"context"
	"database/sql"
	"sync"
	"testing"

	"github.com/hallmark-mcp/hallmark/e2e/postgres"
)

var (
	filesMu sync.Mutex
	files   = map[*SQLite]string{} // of the databases of openFile
)

// openFile opens the database in the file at path, and closes it after the test.
func openFile(t testing.TB, path string) *SQLite {
	t.Helper()
	db, err := OpenSQLite(context.Background(), path)
	filesMu.Lock()
	defer filesMu.Unlock()
	files[db] = path
	return opened(t, db, err)
}

// openServer opens an empty database on a PostgreSQL of the test's own.
func openServer(t testing.TB) *Postgres {
	t.Helper()
	url, err := postgres.ForTest(t).Schema(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	db, err := OpenPostgres(context.Background(), url)
	return opened(t, db, err)
}

// alter runs a statement on a database behind its back.
func alter(t testing.TB, db *SQLite, statement string, args ...any) {
	t.Helper()
	filesMu.Lock()
	path := files[db]
	filesMu.Unlock()
	file, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.Exec(statement, args...); err != nil {
		t.Fatal(err)
	}
}
