package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hallmark-mcp/hallmark/e2e/hang"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/registrytest"
	"github.com/hallmark-mcp/hallmark/internal/registry/sqldb"
)

func openTest(t testing.TB, path string) *DB {
	t.Helper()
	db, err := Open(context.Background(), path)
	return registrytest.RequireOpen(t, db, err)
}

func TestSQLiteRecords(t *testing.T) {
	registrytest.TestRecords(t, func(t *testing.T) registry.Records {
		return openTest(t, filepath.Join(t.TempDir(), "registry.db"))
	})
}

// The same, with no filter so selective that its index is used.
func TestSQLiteRecordsScanned(t *testing.T) {
	registrytest.TestRecords(t, func(t *testing.T) registry.Records {
		db := openTest(t, filepath.Join(t.TempDir(), "registry.db"))
		db.fewNames, db.fewUpdates = 0, 0
		return db
	})
}

func TestSQLiteReopen(t *testing.T) {
	// Characters that mean something in a URI are part of the file's name.
	path := filepath.Join(t.TempDir(), "a b%20c?d#e.db")
	db, err := Open(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	want := registrytest.Insert(t, db, registrytest.Record(t, "io.github.o/a", "1.0.0", 0))
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the file has mode %v", info.Mode())
	}
	got, err := openTest(t, path).Get(context.Background(), "io.github.o/a", "1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	registrytest.Equal(t, "after reopening", got, want)
}

func TestSQLiteSettings(t *testing.T) {
	db := openTest(t, filepath.Join(t.TempDir(), "registry.db"))
	steps, err := sqldb.ReadMigrations("sqlite")
	if err != nil {
		t.Fatal(err)
	}
	for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2",
		"application_id": fmt.Sprint(sqldb.ApplicationID), "user_version": fmt.Sprint(len(steps))} {
		var got string
		if err := db.write.QueryRow("PRAGMA " + pragma).Scan(&got); err != nil || got != want {
			t.Errorf("%s is %q (%v), want %q", pragma, got, err, want)
		}
	}
	if _, err := db.read.Exec("DELETE FROM servers"); err == nil {
		t.Error("a reader can write")
	}
}

// Two processes may start on an empty file at once.
func TestSQLiteMigratesOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "registry.db")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			db, err := Open(context.Background(), path)
			if err != nil {
				t.Error(err)
				return
			}
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func TestSQLiteForeignFiles(t *testing.T) {
	for name, c := range map[string]struct{ statements, want string }{
		"newer": {
			fmt.Sprintf("PRAGMA application_id=%d; PRAGMA user_version=99; CREATE TABLE later (x)",
				sqldb.ApplicationID), "schema version 99 is newer"},
		"another program": {"CREATE TABLE bookmarks (url)", "another program"},
		"another id":      {"PRAGMA application_id=7; CREATE TABLE x (y)", "another program"},
	} {
		path := filepath.Join(t.TempDir(), "x.db")
		raw, err := sql.Open("sqlite", path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := raw.Exec(c.statements); err != nil {
			t.Fatal(err)
		}
		if err := raw.Close(); err != nil {
			t.Fatal(err)
		}
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		_, err = Open(context.Background(), path)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
		if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
			t.Errorf("%s: the file was changed (%v)", name, err)
		}
	}
	path := filepath.Join(t.TempDir(), "text.db")
	if err := os.WriteFile(path, []byte(strings.Repeat("not a database\n", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(context.Background(), path); err == nil {
		t.Error("a text file was opened")
	}
	if _, err := Open(context.Background(), filepath.Join(t.TempDir(), "absent", "x.db")); err == nil {
		t.Error("a directory was created")
	}
}

// A reader sees the last commit while a writer is inside a transaction.
func TestSQLiteReadsDoNotWait(t *testing.T) {
	db := openTest(t, filepath.Join(t.TempDir(), "registry.db"))
	registrytest.Insert(t, db, registrytest.Record(t, "io.github.o/a", "1.0.0", 0))
	tx, err := db.write.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	if _, err := tx.Exec("UPDATE servers SET build = 'uncommitted'"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), hang.Long)
	defer cancel()
	for range 3 * sqliteReaders {
		got, err := db.Get(ctx, "io.github.o/a", registry.Latest)
		if err != nil || got.Build != "test" {
			t.Fatalf("build %q, error %v", got.Build, err)
		}
	}
	if page, _, err := db.List(ctx, registry.Query{}); err != nil || len(page) != 1 {
		t.Fatalf("%d records, error %v", len(page), err)
	}
}

// The writer of another process is waited for.
func TestSQLiteTwoProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "registry.db")
	a, b := openTest(t, path), openTest(t, path)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			db := a
			if i%2 == 0 {
				db = b
			}
			registrytest.Insert(t, db, registrytest.Record(t, "io.github.o/a", fmt.Sprintf("1.0.%d", i), i))
		})
	}
	wg.Wait()
	registrytest.Equal(t, "latest", registrytest.All(t, a, registry.Query{Version: registry.Latest}),
		[]string{"io.github.o/a@1.0.19"})
}

func TestVersionsHaveALimit(t *testing.T) {
	db := openTest(t, filepath.Join(t.TempDir(), "registry.db"))
	registrytest.Insert(t, db, registrytest.Record(t, "io.github.o/a", "1.0.0", 0))
	if _, err := db.write.Exec(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
		INSERT INTO servers (`+columns+`) SELECT 'io.github.o/a', '0.0.' || i, '{}', document_digest, '[]', NULL, '', 'active', '', 0, i, 0, 0, '', NULL, '[]'
		FROM n, (SELECT document_digest FROM servers LIMIT 1)`, registry.MaxVersions-2); err != nil {
		t.Fatal(err)
	}
	registrytest.Insert(t, db, registrytest.Record(t, "io.github.o/a", "1.0.1", 0))
	rec := registrytest.Record(t, "io.github.o/a", "1.0.2", 0)
	if _, err := db.Insert(context.Background(), registrytest.Admission(rec), rec); err != registry.ErrTooMany {
		t.Errorf("error %v, want ErrTooMany", err)
	}
	registrytest.Insert(t, db, registrytest.Record(t, "io.github.o/b", "1.0.2", 0))
	page, next, err := db.Versions(context.Background(), "io.github.o/a", "")
	if err != nil || next != "" || len(page) != registry.MaxVersions {
		t.Errorf("%d versions, cursor %q, error %v", len(page), next, err)
	}
}

// A list passes over deleted records without reading their rows, in which the status lies
// behind the document: whatever the filter, an index has all that it asks for.
func TestSQLiteListPlans(t *testing.T) {
	db := openTest(t, filepath.Join(t.TempDir(), "registry.db"))
	registrytest.Insert(t, db, registrytest.Record(t, "io.github.o/a", "1.0.0", 0))
	for _, few := range []int{0, 1000} {
		db.fewNames, db.fewUpdates = few, few
		for _, q := range []registry.Query{
			{}, {Version: registry.Latest}, {Version: "1.0.0"}, {Search: "git"},
			{Search: "git", Version: registry.Latest}, {Search: "gi"},
			{UpdatedSince: registrytest.Epoch}, {UpdatedSince: registrytest.Epoch, Version: registry.Latest},
			{Cursor: registry.Cursor{Name: "a", Version: "b"}.String()},
			{Cursor: registry.Cursor{Name: "a", Version: "b"}.String(), Version: registry.Latest},
		} {
			if few == 0 && !q.UpdatedSince.IsZero() {
				continue // most records are new, and each that is deleted belongs to the answer
			}
			query, args, err := db.list(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			rows, err := db.read.Query("EXPLAIN QUERY PLAN "+query, append(args, 31)...)
			if err != nil {
				t.Fatal(err)
			}
			var plan []string
			for rows.Next() {
				var id, parent, unused int
				var detail string
				if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
					t.Fatal(err)
				}
				plan = append(plan, detail)
			}
			if err := rows.Err(); err != nil {
				t.Fatal(err)
			}
			reads := func(d string) bool {
				return strings.Contains(d, " servers ") && !strings.Contains(d, "COVERING INDEX")
			}
			if len(plan) == 0 || slices.ContainsFunc(plan, reads) {
				t.Errorf("few %d, %+v: %q", few, q, plan)
			}
		}
	}
}

// BenchmarkSQLiteDeleted lists what lies behind 180 large records that are deleted.
func BenchmarkSQLiteDeleted(b *testing.B) {
	db := openTest(b, filepath.Join(b.TempDir(), "registry.db"))
	registrytest.Insert(b, db, registrytest.Record(b, "io.github.z/a", "1.0.0", 0))
	if _, err := db.write.Exec(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 180)
		INSERT INTO servers (` + columns + `) SELECT 'io.github.o/' || i, '1.0.0', hex(zeroblob(500000)), document_digest, '[]', NULL, '', 'deleted', '', 0, i, 0, 1, '', NULL, '[]'
		FROM n, (SELECT document_digest FROM servers LIMIT 1)`); err != nil {
		b.Fatal(err)
	}
	for _, q := range []registry.Query{{}, {Version: registry.Latest}, {Version: "1.0.0"}, {Search: "github"}} {
		b.Run(q.Version+q.Search, func(b *testing.B) {
			for b.Loop() {
				if page, _, err := db.List(b.Context(), q); err != nil || len(page) != 1 {
					b.Fatal(len(page), err)
				}
			}
		})
	}
}
