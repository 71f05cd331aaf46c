package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/evidence"
)

// kept is what a database keeps beside the records.
type kept interface {
	Records
	Findings
	Imports
}

// testKept is the conformance suite of [Findings] and [Imports].
func testKept(t *testing.T, open func(*testing.T) kept) {
	ctx := context.Background()
	finding := func(n int) Finding {
		return Finding{Name: "io.github.o/a", Version: "1.0.0", At: epoch.Add(time.Duration(n) * time.Hour), Build: fmt.Sprint("build", n),
			Evidence: json.RawMessage(fmt.Sprintf(`[{"n":%d}]`, n))}
	}

	t.Run("findings", func(t *testing.T) {
		db := open(t)
		if err := db.AddFinding(ctx, finding(0)); !errors.Is(err, ErrNotFound) {
			t.Errorf("finding of nothing: %v", err)
		}
		rec := record(t, "io.github.o/a", "1.0.0", 0)
		before := insert(t, db, rec)
		insert(t, db, record(t, "io.github.o/a", "2.0.0", 1))
		if found, err := db.Findings(ctx, "io.github.o/a", "1.0.0"); err != nil || len(found) != 0 {
			t.Errorf("%v, %v", found, err)
		}
		for n := range MaxFindings + 2 {
			f := finding(n)
			f.At = f.At.Add(999 * time.Nanosecond).In(time.FixedZone("x", 3600))
			if n == MaxFindings+1 {
				f.Evidence = nil
			}
			if err := db.AddFinding(ctx, f); err != nil {
				t.Fatal(err)
			}
		}
		found, err := db.Findings(ctx, "io.github.o/a", "1.0.0")
		if err != nil || len(found) != MaxFindings+2 {
			t.Fatalf("%d findings, %v", len(found), err)
		}
		equal(t, "oldest", found[MaxFindings+1], finding(0))
		want := finding(MaxFindings + 1)
		want.Evidence = json.RawMessage(`[]`)
		equal(t, "newest", found[0], want)
		equal(t, "second", found[1], finding(MaxFindings))
		if found[0].Name != "io.github.o/a" || found[0].Version != "1.0.0" {
			t.Errorf("finding of %s@%s", found[0].Name, found[0].Version)
		}
		// Otherwise the record is as it was.
		after, err := db.Get(ctx, "io.github.o/a", "1.0.0")
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "shown", after.Findings, found[:MaxFindings])
		if after.Findings[0].Name != rec.Name || after.Findings[0].Version != rec.Version {
			t.Errorf("finding of %s@%s", after.Findings[0].Name, after.Findings[0].Version)
		}
		after.Findings, before.IsLatest = nil, false
		equal(t, "record", after, before)
		if found, err := db.Findings(ctx, "io.github.o/a", "2.0.0"); err != nil || len(found) != 0 {
			t.Errorf("of the other version: %v, %v", found, err)
		}
	})

	t.Run("findings at once", func(t *testing.T) {
		db := open(t)
		insert(t, db, record(t, "io.github.o/a", "1.0.0", 0))
		var wg sync.WaitGroup
		for n := range 8 {
			wg.Go(func() {
				if err := db.AddFinding(ctx, finding(n)); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if rec, err := db.Get(ctx, "io.github.o/a", "1.0.0"); err != nil || len(rec.Findings) != 8 {
			t.Errorf("%d shown, %v", len(rec.Findings), err)
		}
	})

	t.Run("origin", func(t *testing.T) {
		db := open(t)
		rec := record(t, "io.github.o/a", "1.0.0", 0)
		rec.Origin, rec.ImportedAt, rec.Findings = "https://registry.example.com", epoch.Add(time.Hour+time.Nanosecond), []Finding{finding(1)}
		rec.Status, rec.StatusMessage = Deprecated, "old"
		got := insert(t, db, rec)
		if got.Origin != rec.Origin || !got.ImportedAt.Equal(epoch.Add(time.Hour)) || got.Findings != nil || got.Status != Deprecated {
			t.Errorf("%+v", got)
		}
		read, err := db.Get(ctx, rec.Name, rec.Version)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "read", read, got)
		own := insert(t, db, record(t, "io.github.o/b", "1.0.0", 0))
		if own.Origin != "" || !own.ImportedAt.IsZero() {
			t.Errorf("%+v", own)
		}
	})

	t.Run("follow", func(t *testing.T) {
		db := open(t)
		const origin = "https://registry.example.com"
		imported := record(t, "io.github.o/a", "1.0.0", 0)
		imported.Origin, imported.ImportedAt = origin, epoch
		imported = insert(t, db, imported)
		own := insert(t, db, record(t, "io.github.o/b", "1.0.0", 0))

		deleted := imported
		deleted.Status, deleted.StatusMessage = Deleted, "malware"
		deleted.StatusChangedAt, deleted.UpdatedAt = epoch.Add(time.Hour), epoch.Add(2*time.Hour)
		for _, c := range []struct {
			name   string
			change func(*Record)
			want   bool
		}{
			{"another origin", func(r *Record) { r.Origin = "https://other.example.com" }, false},
			{"no origin", func(r *Record) { r.Origin = "" }, false},
			{"own record", func(r *Record) { r.Name, r.Origin = own.Name, "" }, false},
			{"unknown version", func(r *Record) { r.Version = "9" }, false},
			{"earlier", func(r *Record) { r.StatusChangedAt = epoch.Add(-time.Hour) }, false},
			{"same time", func(r *Record) { r.StatusChangedAt = imported.StatusChangedAt }, false},
			{"same status", func(r *Record) { r.Status, r.StatusMessage = Active, "" }, false},
			{"new status", func(*Record) {}, true},
			{"again", func(*Record) {}, false},
			{"new message", func(r *Record) { r.StatusMessage, r.StatusChangedAt = "worse", epoch.Add(3*time.Hour) }, true},
		} {
			rec := deleted
			c.change(&rec)
			got, err := db.Follow(ctx, rec)
			if err != nil || got != c.want {
				t.Errorf("%s: %t, %v", c.name, got, err)
			}
		}
		want := deleted
		want.StatusMessage, want.StatusChangedAt = "worse", epoch.Add(3*time.Hour)
		got, err := db.Get(ctx, imported.Name, imported.Version)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "followed", got, want)
		if got, err = db.Get(ctx, own.Name, own.Version); err != nil {
			t.Fatal(err)
		}
		equal(t, "own", got, own)
	})

	t.Run("follow decides the latest", func(t *testing.T) {
		db := open(t)
		for n, version := range []string{"1.0.0", "2.0.0"} {
			rec := record(t, "io.github.o/a", version, n)
			rec.Origin, rec.ImportedAt = "https://registry.example.com", epoch
			insert(t, db, rec)
		}
		answered := func() {
			t.Helper()
			page, next, err := db.List(ctx, Query{Deleted: true})
			if err != nil || len(page) != 2 {
				t.Fatalf("%d records, %v", len(page), err)
			}
			sameAnswers(t, db, Query{Deleted: true}, page, next)
		}
		for n, step := range []struct {
			status Status
			latest string
		}{{Deleted, "1.0.0"}, {Active, "2.0.0"}} {
			rec := record(t, "io.github.o/a", "2.0.0", 1)
			rec.Origin, rec.Status = "https://registry.example.com", step.status
			rec.StatusChangedAt = epoch.Add(time.Duration(n+1) * time.Hour)
			if followed, err := db.Follow(ctx, rec); err != nil || !followed {
				t.Fatalf("%t, %v", followed, err)
			}
			if got, err := db.Get(ctx, rec.Name, Latest); err != nil || got.Version != step.latest {
				t.Errorf("%s: the latest is %s, %v", step.status, got.Version, err)
			}
			answered()
		}
		if err := db.AddFinding(ctx, finding(1)); err != nil {
			t.Fatal(err)
		}
		answered()
		if answer, err := db.AppendRecord(ctx, nil, "io.github.o/a", "1.0.0", false); err != nil || !strings.Contains(string(answer), `"findings":[{`) {
			t.Errorf("%s, %v", answer, err)
		}
	})

	t.Run("progress", func(t *testing.T) {
		db := open(t)
		if p, err := db.Progress(ctx, "a"); err != nil || p != (Progress{}) {
			t.Errorf("%+v, %v", p, err)
		}
		for _, want := range []Progress{{Cursor: "x", Began: epoch}, {Cursor: "y", Began: epoch, Since: epoch.Add(time.Hour)}, {Since: epoch}, {}} {
			if err := db.SetProgress(ctx, "a", want); err != nil {
				t.Fatal(err)
			}
			got, err := db.Progress(ctx, "a")
			if err != nil {
				t.Fatal(err)
			}
			equal(t, "progress", got, want)
		}
		if p, err := db.Progress(ctx, "b"); err != nil || p != (Progress{}) {
			t.Errorf("of another source: %+v, %v", p, err)
		}
	})
}

func TestSQLiteKept(t *testing.T) {
	testKept(t, func(t *testing.T) kept { return openTest(t, filepath.Join(t.TempDir(), "registry.db")) })
}

// Findings and origins are part of every answer that gives the record.
func TestFindingsAreShown(t *testing.T) {
	var db *SQLite
	f := serve(t, evidence.Report{}, func(c *Config) { db = c.Records.(*SQLite) })
	ctx := context.Background()
	rec := record(t, "io.github.o/a", "1.0.0", 0)
	rec.Origin, rec.ImportedAt = "https://registry.example.com", epoch
	insert(t, db, rec)
	insert(t, db, record(t, "io.github.o/b", "1.0.0", 0))
	plain, err := f.Get(ctx, "io.github.o/b", "1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	if i := plain.Meta.Integrity; i.Findings != nil || i.ImportedFrom != "" || i.ImportedAt != nil {
		t.Errorf("%+v", i)
	}
	if err := db.AddFinding(ctx, Finding{Name: rec.Name, Version: rec.Version, At: epoch, Build: "b", Evidence: json.RawMessage(`[{"subject":"x"}]`)}); err != nil {
		t.Fatal(err)
	}
	const want = `"hallmark/integrity":{"document":"%s","verifiedAt":"2026-01-31T12:00:00.123456Z","build":"test","evidence":[{"subject":"npm:a@1"}],` +
		`"findings":[{"at":"2026-01-31T12:00:00.123456Z","build":"b","evidence":[{"subject":"x"}]}],` +
		`"importedFrom":"https://registry.example.com","importedAt":"2026-01-31T12:00:00.123456Z"}`
	for _, path := range []string{"/v0/servers", "/v0/servers/io.github.o%2Fa/versions", "/v0.1/servers/io.github.o%2Fa/versions/1.0.0", "/v0.1/servers/io.github.o%2Fa/versions/latest"} {
		if _, body := send(t, "GET", f.URL+path, ""); !strings.Contains(body, fmt.Sprintf(want, rec.Digest)) {
			t.Errorf("%s: %s", path, body)
		}
	}
}

func TestChangesAsks(t *testing.T) {
	var asked string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.String()
		w.Header().Set("Content-Type", "application/json")
		w.Write([]byte(`{"servers":[],"metadata":{"count":0}}`))
	}))
	defer srv.Close()
	c := &Client{Base: srv.URL}
	for _, tt := range []struct {
		cursor string
		since  time.Time
		want   string
	}{
		{"", time.Time{}, "/v0.1/servers?include_deleted=true&limit=100"},
		{"a:b", epoch, "/v0.1/servers?cursor=a%3Ab&include_deleted=true&limit=100&updated_since=2026-01-31T12%3A00%3A00Z"},
	} {
		if _, err := c.Changes(context.Background(), tt.cursor, tt.since); err != nil || asked != tt.want {
			t.Errorf("asked %s (%v), want %s", asked, err, tt.want)
		}
	}
}
