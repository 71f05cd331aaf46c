package sqldb_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/registrytest"
	"github.com/hallmark-mcp/hallmark/internal/registry/sqlite"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/policy"
)

// open opens a database in a file.
func open(t *testing.T, file string) *sqlite.DB {
	t.Helper()
	db, err := sqlite.Open(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// The statements do what every storage of archives must do; PostgreSQL's own tests run the same suite.
func TestArchives(t *testing.T) {
	registrytest.TestArchiveRecords(t, func(t *testing.T) registrytest.Shelves {
		return open(t, filepath.Join(t.TempDir(), "registry.db"))
	})
}

// A search is for text: what means something in a pattern stands for itself, and text that no database has
// finds nothing.
func TestSearchIsText(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "registry.db"))
	for _, name := range []string{"a_notes", "abnotes", "percent", "notes-a"} {
		registrytest.Shelve(t, db, registrytest.NewArchiveRecord(ledger.Facet, name, "1.0.0", 0))
	}
	for search, want := range map[string]string{
		"a_n": "a_notes", "a_": "a_notes", "%": "", "NOTES": "a_notes abnotes notes-a", "n%s": "", `a\_n`: "",
		"' OR '1'='1": "", "no\x00": "", "\xff": "", "s-": "notes-a",
	} {
		found, _, err := db.ListArchives(t.Context(), ledger.Facet, registry.Query{Search: search})
		var names []string
		for _, rec := range found {
			names = append(names, rec.Name)
		}
		if err != nil || strings.Join(names, " ") != want {
			t.Errorf("%q: %q, want %q: %v", search, names, want, err)
		}
	}
}

// A row that somebody damaged is an error that names the record, and never a record with less in it.
func TestDamagedRow(t *testing.T) {
	file := filepath.Join(t.TempDir(), "registry.db")
	db := open(t, file)
	raw, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	for column, value := range map[string]string{
		"content_integrity": "sha256:00", "content_hash": "md5:x", "document_digest": "x", "assets": "{",
		"findings": "[",
	} {
		name := strings.ReplaceAll(column, "_", "-")
		registrytest.Shelve(t, db, registrytest.NewArchiveRecord(ledger.Facet, name, "1.0.0", 0))
		if _, err := raw.ExecContext(t.Context(), "UPDATE archives SET "+column+" = ? WHERE name = ?", value,
			name); err != nil {
			t.Fatal(err)
		}
		if rec, err := db.Archive(t.Context(), ledger.Facet, name, "1.0.0"); err == nil ||
			!strings.Contains(err.Error(), name) || errors.Is(err, registry.ErrNotFound) {
			t.Errorf("%s: %+v, %v", column, rec, err)
		}
	}
}

// What was not admitted is not inserted, and a finding is about a version of an archive.
func TestBeforeTheTransaction(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "registry.db"))
	registrytest.Shelve(t, db, registrytest.NewArchiveRecord(ledger.Facet, "kit", "1.0.0", 0))
	rec := registrytest.NewArchiveRecord(ledger.Facet, "kit", "2.0.0", 0)
	if _, err := db.InsertArchive(t.Context(), policy.Admitted{}, rec); err == nil {
		t.Error("a record is inserted that nothing admitted")
	}
	for _, f := range []registry.Finding{
		{Kind: ledger.Server, Name: "io.github.a/b", Version: "1.0.0"}, {Kind: "other", Name: "kit", Version: "1.0.0"},
		{Kind: ledger.Facet, Name: "kit", Version: registry.Latest}, {Kind: ledger.Facet, Name: "k\x00",
			Version: "1.0.0"},
		{Kind: ledger.Facet, Name: "kit", Version: "1.0.0", Build: "\xff"},
	} {
		if err := db.AddArchiveFinding(t.Context(), f); err == nil {
			t.Errorf("a finding about %+v", f)
		}
	}
	if err := db.AddArchiveFinding(t.Context(), registry.Finding{Kind: ledger.Facet, Name: "kit",
		Version: "1.0.0"}); err != nil {
		t.Error(err)
	}
}

// Pages end with a cursor that leads to the next one, and one of another name is none.
func TestVersionsOfAnother(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "registry.db"))
	registrytest.Shelve(t, db, registrytest.NewArchiveRecord(ledger.Facet, "kit", "1.0.0", 0))
	registrytest.Shelve(t, db, registrytest.NewArchiveRecord(ledger.Facet, "kit", "1.1.0", 1))
	registrytest.Shelve(t, db, registrytest.NewArchiveRecord(ledger.Facet, "kits", "1.0.0", 2))
	versions := func(after registry.Cursor) (subjects []string, err error) {
		found, _, err := db.ArchiveVersions(context.Background(), ledger.Facet, "kit", after.String(), false)
		return registrytest.ArchiveSubjects(found), err
	}
	if got, err := versions(registry.Cursor{Name: "kit", Version: "1.1.0"}); err != nil ||
		!slices.Equal(got, []string{"kit@1.0.0"}) {
		t.Errorf("%q, %v", got, err)
	}
	for _, c := range []registry.Cursor{{Name: "kits", Version: "1.0.0"}, {Name: "kit", Version: "2.0.0"},
		{Name: "kit", Version: registry.Latest}} {
		if got, err := versions(c); !errors.Is(err, registry.ErrCursor) {
			t.Errorf("%+v: %q, %v", c, got, err)
		}
	}
}
