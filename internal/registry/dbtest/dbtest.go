// Package dbtest opens the database of a test, and spoils it behind its back.
package dbtest

import (
	"context"
	"database/sql"
	"sync"
	"testing"

	"github.com/hallmark-mcp/hallmark/internal/registry/registrytest"
	"github.com/hallmark-mcp/hallmark/internal/registry/sqlite"
)

var (
	filesMu sync.Mutex
	files   = map[*sqlite.DB]string{} // of the databases of OpenSQLite
)

// OpenSQLite opens the database in the file at path, and closes it after the test.
func OpenSQLite(t testing.TB, path string) *sqlite.DB {
	t.Helper()
	db, err := sqlite.Open(context.Background(), path)
	filesMu.Lock()
	defer filesMu.Unlock()
	files[db] = path
	return registrytest.RequireOpen(t, db, err)
}

// Alter runs a statement on a database behind its back.
func Alter(t testing.TB, db *sqlite.DB, statement string, args ...any) {
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
