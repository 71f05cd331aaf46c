package servertest

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/hallmark-mcp/hallmark/internal/registry/registrytest"
	"github.com/hallmark-mcp/hallmark/internal/registry/sqlite"
)

var (
	filesMu sync.Mutex
	files   = map[*sqlite.DB]string{} // of the databases of OpenSQLite
)

// OpenSQLite opens the database in the file at path, and closes it after the test. A new file is a copy of one that
// has the tables: making them is a fifth of the tests of a registry.
func OpenSQLite(t testing.TB, path string) *sqlite.DB {
	t.Helper()
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		data, err := emptyDatabase()
		if err == nil {
			err = os.WriteFile(path, data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	db, err := sqlite.Open(context.Background(), path)
	filesMu.Lock()
	defer filesMu.Unlock()
	files[db] = path
	return registrytest.RequireOpen(t, db, err)
}

// emptyDatabase is a database as its first opening leaves it.
var emptyDatabase = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "registry.db")
	db, err := sqlite.Open(context.Background(), path)
	if err != nil {
		return nil, err
	}
	if err := db.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

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
