package registrytest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/internal/registry"
)

// KeptStore is what a database keeps beside the records.
type KeptStore interface {
	registry.Records
	registry.Findings
	registry.Imports
}

// TestKept is the conformance suite of [registry.Findings] and [registry.Imports].
func TestKept(t *testing.T, open func(*testing.T) KeptStore) {
	t.Run("findings", func(t *testing.T) { testFindings(t, open(t)) })
	t.Run("findings at once", func(t *testing.T) { testFindingsRace(t, open(t)) })
	t.Run("origin", func(t *testing.T) { testOrigin(t, open(t)) })
	t.Run("follow", func(t *testing.T) { testFollow(t, open(t)) })
	t.Run("follow decides the latest", func(t *testing.T) { testFollowLatest(t, open(t)) })
	t.Run("progress", func(t *testing.T) { testProgress(t, open(t)) })
}

// newFinding makes a finding about io.github.o/a@1.0.0, n hours after epoch.
func newFinding(n int) registry.Finding {
	return registry.Finding{Name: "io.github.o/a", Version: "1.0.0", At: Epoch.Add(time.Duration(n) * time.Hour),
		Build: fmt.Sprint("build", n), Evidence: json.RawMessage(fmt.Sprintf(`[{"n":%d}]`, n))}
}

// testFindings checks that findings are kept and shown with their record, which they do not change.
func testFindings(t *testing.T, db KeptStore) {
	ctx := context.Background()
	if err := db.AddFinding(ctx, newFinding(0)); !errors.Is(err, registry.ErrNotFound) {
		t.Errorf("finding of nothing: %v", err)
	}
	rec := Record(t, "io.github.o/a", "1.0.0", 0)
	before := Insert(t, db, rec)
	Insert(t, db, Record(t, "io.github.o/a", "2.0.0", 1))
	if found, err := db.Findings(ctx, "io.github.o/a", "1.0.0"); err != nil || len(found) != 0 {
		t.Errorf("%v, %v", found, err)
	}
	for n := range registry.MaxFindings + 2 {
		f := newFinding(n)
		f.At = f.At.Add(999 * time.Nanosecond).In(time.FixedZone("x", 3600))
		if n == registry.MaxFindings+1 {
			f.Evidence = nil
		}
		if err := db.AddFinding(ctx, f); err != nil {
			t.Fatal(err)
		}
	}
	found, err := db.Findings(ctx, "io.github.o/a", "1.0.0")
	if err != nil || len(found) != registry.MaxFindings+2 {
		t.Fatalf("%d findings, %v", len(found), err)
	}
	Equal(t, "oldest", found[registry.MaxFindings+1], newFinding(0))
	want := newFinding(registry.MaxFindings + 1)
	want.Evidence = json.RawMessage(`[]`)
	Equal(t, "newest", found[0], want)
	Equal(t, "second", found[1], newFinding(registry.MaxFindings))
	if found[0].Name != "io.github.o/a" || found[0].Version != "1.0.0" {
		t.Errorf("finding of %s@%s", found[0].Name, found[0].Version)
	}
	// Otherwise the record is as it was.
	after, err := db.Get(ctx, "io.github.o/a", "1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	Equal(t, "shown", after.Findings, found[:registry.MaxFindings])
	if after.Findings[0].Name != rec.Name || after.Findings[0].Version != rec.Version {
		t.Errorf("finding of %s@%s", after.Findings[0].Name, after.Findings[0].Version)
	}
	after.Findings, before.IsLatest = nil, false
	Equal(t, "record", after, before)
	if found, err := db.Findings(ctx, "io.github.o/a", "2.0.0"); err != nil || len(found) != 0 {
		t.Errorf("of the other version: %v, %v", found, err)
	}
}

// testFindingsRace checks that findings added at the same time are all shown.
func testFindingsRace(t *testing.T, db KeptStore) {
	ctx := context.Background()
	Insert(t, db, Record(t, "io.github.o/a", "1.0.0", 0))
	var wg sync.WaitGroup
	for n := range 8 {
		wg.Go(func() {
			if err := db.AddFinding(ctx, newFinding(n)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if rec, err := db.Get(ctx, "io.github.o/a", "1.0.0"); err != nil || len(rec.Findings) != 8 {
		t.Errorf("%d shown, %v", len(rec.Findings), err)
	}
}

// testOrigin checks that a record keeps where it was imported from.
func testOrigin(t *testing.T, db KeptStore) {
	ctx := context.Background()
	rec := Record(t, "io.github.o/a", "1.0.0", 0)
	rec.Origin, rec.ImportedAt, rec.Findings = "https://registry.example.com", Epoch.Add(time.Hour+time.Nanosecond),
		[]registry.Finding{newFinding(1)}
	rec.Status, rec.StatusMessage = registry.Deprecated, "old"
	got := Insert(t, db, rec)
	if got.Origin != rec.Origin || !got.ImportedAt.Equal(Epoch.Add(time.Hour)) || got.Findings != nil ||
		got.Status != registry.Deprecated {
		t.Errorf("%+v", got)
	}
	read, err := db.Get(ctx, rec.Name, rec.Version)
	if err != nil {
		t.Fatal(err)
	}
	Equal(t, "read", read, got)
	own := Insert(t, db, Record(t, "io.github.o/b", "1.0.0", 0))
	if own.Origin != "" || !own.ImportedAt.IsZero() {
		t.Errorf("%+v", own)
	}
}

// testFollow checks which changes of the source an imported record follows.
func testFollow(t *testing.T, db KeptStore) {
	ctx := context.Background()
	const origin = "https://registry.example.com"
	imported := Record(t, "io.github.o/a", "1.0.0", 0)
	imported.Origin, imported.ImportedAt = origin, Epoch
	imported = Insert(t, db, imported)
	own := Insert(t, db, Record(t, "io.github.o/b", "1.0.0", 0))

	deleted := imported
	deleted.Status, deleted.StatusMessage = registry.Deleted, "malware"
	deleted.StatusChangedAt, deleted.UpdatedAt = Epoch.Add(time.Hour), Epoch.Add(2*time.Hour)
	for _, c := range []struct {
		name   string
		change func(*registry.Record)
		want   bool
	}{
		{"another origin", func(r *registry.Record) { r.Origin = "https://other.example.com" }, false},
		{"no origin", func(r *registry.Record) { r.Origin = "" }, false},
		{"own record", func(r *registry.Record) { r.Name, r.Origin = own.Name, "" }, false},
		{"unknown version", func(r *registry.Record) { r.Version = "9" }, false},
		{"earlier", func(r *registry.Record) { r.StatusChangedAt = Epoch.Add(-time.Hour) }, false},
		{"same time", func(r *registry.Record) { r.StatusChangedAt = imported.StatusChangedAt }, false},
		{"same status", func(r *registry.Record) { r.Status, r.StatusMessage = registry.Active, "" }, false},
		{"new status", func(*registry.Record) {}, true},
		{"again", func(*registry.Record) {}, false},
		{"new message",
			func(r *registry.Record) { r.StatusMessage, r.StatusChangedAt = "worse", Epoch.Add(3*time.Hour) },
			true},
	} {
		rec := deleted
		c.change(&rec)
		got, err := db.Follow(ctx, rec)
		if err != nil || got != c.want {
			t.Errorf("%s: %t, %v", c.name, got, err)
		}
	}
	want := deleted
	want.StatusMessage, want.StatusChangedAt = "worse", Epoch.Add(3*time.Hour)
	got, err := db.Get(ctx, imported.Name, imported.Version)
	if err != nil {
		t.Fatal(err)
	}
	Equal(t, "followed", got, want)
	if got, err = db.Get(ctx, own.Name, own.Version); err != nil {
		t.Fatal(err)
	}
	Equal(t, "own", got, own)
}

// testFollowLatest checks that a followed status decides the latest version, also in stored answers.
func testFollowLatest(t *testing.T, db KeptStore) {
	ctx := context.Background()
	for n, version := range []string{"1.0.0", "2.0.0"} {
		rec := Record(t, "io.github.o/a", version, n)
		rec.Origin, rec.ImportedAt = "https://registry.example.com", Epoch
		Insert(t, db, rec)
	}
	answered := func() {
		t.Helper()
		page, next, err := db.List(ctx, registry.Query{Deleted: true})
		if err != nil || len(page) != 2 {
			t.Fatalf("%d records, %v", len(page), err)
		}
		sameAnswers(t, db, registry.Query{Deleted: true}, page, next)
	}
	for n, step := range []struct {
		status registry.Status
		latest string
	}{{registry.Deleted, "1.0.0"}, {registry.Active, "2.0.0"}} {
		rec := Record(t, "io.github.o/a", "2.0.0", 1)
		rec.Origin, rec.Status = "https://registry.example.com", step.status
		rec.StatusChangedAt = Epoch.Add(time.Duration(n+1) * time.Hour)
		if followed, err := db.Follow(ctx, rec); err != nil || !followed {
			t.Fatalf("%t, %v", followed, err)
		}
		if got, err := db.Get(ctx, rec.Name, registry.Latest); err != nil || got.Version != step.latest {
			t.Errorf("%s: the latest is %s, %v", step.status, got.Version, err)
		}
		answered()
	}
	if err := db.AddFinding(ctx, newFinding(1)); err != nil {
		t.Fatal(err)
	}
	answered()
	if answer, err := db.AppendRecord(ctx, nil, "io.github.o/a", "1.0.0", false); err != nil ||
		!strings.Contains(string(answer), `"findings":[{`) {
		t.Errorf("%s, %v", answer, err)
	}
}

// testProgress checks that the progress of an import is kept for each source.
func testProgress(t *testing.T, db KeptStore) {
	ctx := context.Background()
	if p, err := db.Progress(ctx, "a"); err != nil || p != (registry.Progress{}) {
		t.Errorf("%+v, %v", p, err)
	}
	for _, want := range []registry.Progress{{Cursor: "x", Began: Epoch},
		{Cursor: "y", Began: Epoch, Since: Epoch.Add(time.Hour)}, {Since: Epoch}, {}} {
		if err := db.SetProgress(ctx, "a", want); err != nil {
			t.Fatal(err)
		}
		got, err := db.Progress(ctx, "a")
		if err != nil {
			t.Fatal(err)
		}
		Equal(t, "progress", got, want)
	}
	if p, err := db.Progress(ctx, "b"); err != nil || p != (registry.Progress{}) {
		t.Errorf("of another source: %+v, %v", p, err)
	}
}
