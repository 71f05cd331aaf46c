package registrytest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/policy"
)

// Shelves is a database with what records of archives need.
type Shelves interface {
	registry.ArchiveRecords
	registry.Entries
}

// TestArchiveRecords is the conformance suite of [registry.ArchiveRecords].
func TestArchiveRecords(t *testing.T, open func(*testing.T) Shelves) {
	t.Run("insert and get", func(t *testing.T) { testArchiveInserted(t, open(t)) })
	t.Run("only what was admitted", func(t *testing.T) { testArchiveAdmitted(t, open(t)) })
	t.Run("one of many wins", func(t *testing.T) { testArchivesRace(t, open(t)) })
	t.Run("versions and latest", func(t *testing.T) { testArchiveVersions(t, open(t)) })
	t.Run("list and search", func(t *testing.T) { testArchiveList(t, open(t)) })
	t.Run("status", func(t *testing.T) { testArchiveStatus(t, open(t)) })
	t.Run("findings", func(t *testing.T) { testArchiveFindings(t, open(t)) })
	t.Run("restored with its status", func(t *testing.T) { testArchiveRestored(t, open(t)) })
}

// testArchiveInserted checks that a record is read as it was inserted, and that the log has an entry of it.
func testArchiveInserted(t *testing.T, db Shelves) {
	ctx := context.Background()
	rec := NewArchiveRecord(ledger.Artifact, "@acme/notes", "1.0.0", 0)
	rec.APISurface = digest.FromBytes([]byte("surface"))
	first := Shelve(t, db, rec)
	if !first.IsLatest || first.Status != registry.Active || first.Entry != 0 {
		t.Errorf("inserted %+v", first)
	}
	for _, version := range []string{"1.0.0", registry.Latest} {
		got, err := db.Archive(ctx, ledger.Artifact, "@acme/notes", version)
		if err != nil || FormatArchive(t, got) != FormatArchive(t, first) ||
			string(got.Manifest) != string(rec.Manifest) {
			t.Errorf("%s: got %s, %v; want %s", version, FormatArchive(t, got), err, FormatArchive(t, first))
		}
	}
	// The same name and version of another kind is another record.
	for _, absent := range [][2]string{{"@acme/notes", "2.0.0"}, {"@acme/other", "1.0.0"},
		{"@acme/\xff", "1.0.0"}} {
		if _, err := db.Archive(ctx, ledger.Artifact, absent[0], absent[1]); !errors.Is(err, registry.ErrNotFound) {
			t.Errorf("%q: %v", absent, err)
		}
	}
	if _, err := db.Archive(ctx, ledger.Facet, "@acme/notes", "1.0.0"); !errors.Is(err, registry.ErrNotFound) {
		t.Errorf("of another kind: %v", err)
	}
	Shelve(t, db, NewArchiveRecord(ledger.Facet, "@acme/notes", "1.0.0", 1))

	other := NewArchiveRecord(ledger.Artifact, "@acme/notes", "1.0.0", 5)
	other.ContentHash = digest.FromBytes([]byte("other"))
	if got, err := db.InsertArchive(ctx, archiveAdmission(t, other, ""), other); !errors.Is(err,
		registry.ErrExists) || FormatArchive(t, got) != FormatArchive(t, first) {
		t.Errorf("again: %s, %v", FormatArchive(t, got), err)
	}
	texts, err := db.LogEntries(ctx, 0, 10)
	if err != nil || len(texts) != 2 {
		t.Fatalf("%d entries, %v", len(texts), err)
	}
	leaf, err := ledger.ParseLeaf(texts[0])
	document, _ := rec.Document()
	if err != nil || leaf.Kind != ledger.Artifact || leaf.Name != rec.Name || leaf.Version != rec.Version ||
		leaf.ContentIntegrity.String() != rec.ContentIntegrity.String() ||
		leaf.APISurface.String() != rec.APISurface.String() || leaf.Document.String() != document.String() ||
		leaf.Publisher != "github-at:acme" || !leaf.At.Equal(Epoch.Truncate(time.Second)) {
		t.Errorf("the entry is %s, %v", texts[0], err)
	}
	if strings.Contains(string(texts[0]), rec.ContentHash.Hex()) {
		t.Error("the entry has the transport hash, which a lock must not hold")
	}
}

// testArchiveAdmitted checks that a record is inserted only with an admission of it by all that is owed.
func testArchiveAdmitted(t *testing.T, db Shelves) {
	ctx := context.Background()
	rec := NewArchiveRecord(ledger.Facet, "notes", "1.0.0", 0)
	for _, omit := range []evidence.Scheme{evidence.Document, evidence.File, evidence.FacetTar} {
		if _, err := db.InsertArchive(ctx, archiveAdmission(t, rec, omit), rec); !errors.Is(err,
			policy.ErrNotAdmitted) {
			t.Errorf("without %s: %v", omit, err)
		}
	}
	other := rec
	other.Version = "1.0.1"
	if _, err := db.InsertArchive(ctx, archiveAdmission(t, rec, ""), other); !errors.Is(err,
		policy.ErrNotAdmitted) {
		t.Errorf("another version: %v", err)
	}
	if _, err := db.Archive(ctx, ledger.Facet, "notes", registry.Latest); !errors.Is(err, registry.ErrNotFound) {
		t.Errorf("kept: %v", err)
	}
	if state, err := db.LogState(ctx); err != nil || state.Size != 0 {
		t.Errorf("%d entries, %v", state.Size, err)
	}
}

// testArchivesRace checks that of many insertions of one version one succeeds and is logged.
func testArchivesRace(t *testing.T, db Shelves) {
	ctx := context.Background()
	var wg sync.WaitGroup
	var mu sync.Mutex
	won := 0
	for i := range 64 {
		rec := NewArchiveRecord(ledger.Facet, "notes", "1.0.0", i)
		rec.ContentHash = digest.FromBytes(fmt.Append(nil, i))
		a := archiveAdmission(t, rec, "")
		wg.Go(func() {
			got, err := db.InsertArchive(ctx, a, rec)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil && got.ContentHash.String() == rec.ContentHash.String():
				won++
			case !errors.Is(err, registry.ErrExists):
				t.Errorf("%v", err)
			}
		})
	}
	wg.Wait()
	if state, err := db.LogState(ctx); won != 1 || err != nil || state.Size != 1 {
		t.Errorf("%d won, %d entries, %v", won, state.Size, err)
	}
}

// testArchiveVersions checks the versions of a name, newest first, and which is the latest.
func testArchiveVersions(t *testing.T, db Shelves) {
	ctx := context.Background()
	for i, version := range []string{"1.0.0", "1.10.0", "1.9.0", "0.1.0"} {
		got := Shelve(t, db, NewArchiveRecord(ledger.Facet, "@acme/notes", version, i))
		if want := version == "1.0.0" || version == "1.10.0"; got.IsLatest != want {
			t.Errorf("%s: latest %t", version, got.IsLatest)
		}
	}
	if got, err := db.Archive(ctx, ledger.Facet, "@acme/notes", registry.Latest); err != nil ||
		got.Version != "1.10.0" {
		t.Errorf("latest is %s, %v", got.Version, err)
	}
	page, next, err := db.ArchiveVersions(ctx, ledger.Facet, "@acme/notes", "", false)
	if got := strings.Join(ArchiveSubjects(page), " "); err != nil || next != "" ||
		got != "@acme/notes@0.1.0 @acme/notes@1.9.0 @acme/notes@1.10.0 @acme/notes@1.0.0" {
		t.Errorf("%s, %q, %v", got, next, err)
	}
	if _, _, err := db.ArchiveVersions(ctx, ledger.Facet, "@acme/none", "", true); !errors.Is(err,
		registry.ErrNotFound) {
		t.Errorf("no such name: %v", err)
	}
	if _, _, err := db.ArchiveVersions(ctx, ledger.Facet, "@acme/notes",
		registry.Cursor{Name: "@acme/notes", Version: "7.0.0"}.String(), false); !errors.Is(err,
		registry.ErrCursor) {
		t.Errorf("a made up cursor: %v", err)
	}

	// Pages of many.
	for i := range registry.MaxLimit + 5 {
		Shelve(t, db, NewArchiveRecord(ledger.Facet, "many", fmt.Sprintf("0.0.%d", i), i))
	}
	var got []string
	for cursor := ""; ; {
		page, next, err := db.ArchiveVersions(ctx, ledger.Facet, "many", cursor, false)
		if err != nil || len(page) == 0 {
			t.Fatal(len(page), err)
		}
		got = append(got, ArchiveSubjects(page)...)
		if cursor = next; next == "" {
			break
		}
	}
	if len(got) != registry.MaxLimit+5 || got[0] != fmt.Sprintf("many@0.0.%d", registry.MaxLimit+4) ||
		got[len(got)-1] != "many@0.0.0" || len(slices.Compact(slices.Sorted(slices.Values(got)))) != len(got) {
		t.Errorf("%d: %v", len(got), got)
	}
}

// testArchiveList checks what a list has, in pages of several sizes.
func testArchiveList(t *testing.T, db Shelves) {
	ctx := context.Background()
	for i, name := range []string{"@acme/notes", "@acme/review", "notes", "sticky-notes", "a_b", "axb"} {
		Shelve(t, db, NewArchiveRecord(ledger.Facet, name, "1.0.0", 10*i))
		Shelve(t, db, NewArchiveRecord(ledger.Facet, name, "1.1.0", 10*i+1))
	}
	Shelve(t, db, NewArchiveRecord(ledger.Plugin, "plugin-notes", "1.0.0", 0))
	if _, _, err := db.SetArchiveStatus(ctx, ledger.Facet, "notes", "1.0.0",
		registry.Change{Status: registry.Deleted, At: Epoch.Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		q    registry.Query
		want string
	}{
		{registry.Query{Version: registry.Latest},
			"@acme/notes@1.1.0 @acme/review@1.1.0 a_b@1.1.0 axb@1.1.0 notes@1.1.0 sticky-notes@1.1.0"},
		{registry.Query{Version: registry.Latest, Search: "NOTES"},
			"@acme/notes@1.1.0 notes@1.1.0 sticky-notes@1.1.0"},
		{registry.Query{Search: "tes", Version: "1.0.0"}, "@acme/notes@1.0.0 sticky-notes@1.0.0"},
		{registry.Query{Search: "tes", Version: "1.0.0", Deleted: true},
			"@acme/notes@1.0.0 notes@1.0.0 sticky-notes@1.0.0"},
		{registry.Query{Search: "a_b", Version: registry.Latest}, "a_b@1.1.0"},
		{registry.Query{Search: `"or"`}, ""},
		{registry.Query{Search: "nothing has this"}, ""},
		{registry.Query{Search: "a\x00b"}, ""},
		{registry.Query{UpdatedSince: Epoch.Add(51 * time.Minute), Deleted: true}, "axb@1.1.0 notes@1.0.0"},
	} {
		for _, limit := range []int{1, 2, 50} {
			c.q.Limit = limit
			if got := listFacets(t, db, &c.q); got != c.want {
				t.Errorf("%+v: %s; want %s", c.q, got, c.want)
			}
		}
	}
	if _, _, err := db.ListArchives(ctx, ledger.Facet, registry.Query{Cursor: "?"}); !errors.Is(err,
		registry.ErrCursor) {
		t.Errorf("a broken cursor: %v", err)
	}
}

// listFacets follows the cursors of q, and returns the names and versions of the facets on all pages.
func listFacets(t *testing.T, db Shelves, q *registry.Query) string {
	t.Helper()
	var got []string
	q.Cursor = ""
	for {
		page, next, err := db.ListArchives(context.Background(), ledger.Facet, *q)
		if err != nil || len(page) > q.Limit {
			t.Fatalf("%+v: %d, %v", *q, len(page), err)
		}
		got = append(got, ArchiveSubjects(page)...)
		if q.Cursor = next; next == "" {
			return strings.Join(got, " ")
		}
	}
}

// testArchiveStatus checks what a change of status does to records, lists and the log.
func testArchiveStatus(t *testing.T, db Shelves) {
	ctx := context.Background()
	for i, version := range []string{"1.0.0", "2.0.0"} {
		Shelve(t, db, NewArchiveRecord(ledger.Facet, "notes", version, i))
	}
	Shelve(t, db, NewArchiveRecord(ledger.Artifact, "notes", "2.0.0", 3)) // which nothing happens to
	at := Epoch.Add(time.Hour)
	checkOneDeleted(t, db, at)
	checkAllDeleted(t, db, at)
	checkDeletedLogged(t, db)
	if err := db.AddArchiveFinding(ctx,
		registry.Finding{Kind: ledger.Artifact, Name: "notes", Version: "2.0.0", At: at}); err != nil {
		t.Fatal(err)
	}
	for kind, want := range map[ledger.Kind][]int64{ledger.Facet: {3, 4}, ledger.Artifact: {6},
		ledger.Plugin: nil} {
		if got, err := db.LogLater(ctx, kind, "notes", "2.0.0", 2); err != nil || !slices.Equal(got, want) {
			t.Errorf("later entries of the %s: %v, %v", kind, got, err)
		}
	}
}

// checkOneDeleted deletes the newer of two versions at a time, and checks that this changes it, what is the latest, and
// nothing else.
func checkOneDeleted(t *testing.T, db Shelves, at time.Time) {
	t.Helper()
	ctx := context.Background()
	n, records, err := db.SetArchiveStatus(ctx, ledger.Facet, "notes", "2.0.0",
		registry.Change{Status: registry.Deleted, Message: "leaked a key", At: at, By: "dns:acme"})
	if err != nil || n != 1 || len(records) != 1 || records[0].Status != registry.Deleted ||
		records[0].StatusMessage != "leaked a key" ||
		!records[0].StatusChangedAt.Equal(at) || !records[0].UpdatedAt.Equal(at) || records[0].IsLatest ||
		*records[0].StatusEntry != 3 {
		t.Fatalf("%d %+v %v", n, records, err)
	}
	if got, err := db.Archive(ctx, ledger.Facet, "notes", registry.Latest); err != nil || got.Version != "1.0.0" ||
		!got.IsLatest {
		t.Errorf("latest is %s, %v", got.Version, err)
	}
	if got, err := db.Archive(ctx, ledger.Artifact, "notes", registry.Latest); err != nil ||
		got.Status != registry.Active {
		t.Errorf("the other kind: %s, %v", got.Status, err)
	}
	if page, _, err := db.ArchiveVersions(ctx, ledger.Facet, "notes", "", false); err != nil || len(page) != 1 {
		t.Errorf("%v, %v", ArchiveSubjects(page), err)
	}
	if page, _, err := db.ArchiveVersions(ctx, ledger.Facet, "notes", "", true); err != nil || len(page) != 2 {
		t.Errorf("%v, %v", ArchiveSubjects(page), err)
	}
}

// checkAllDeleted deletes both versions, of which the newer one was deleted at a time, and checks that a deleted one is
// the latest then. Nothing changes if they are deleted again, or what does not exist.
func checkAllDeleted(t *testing.T, db Shelves, at time.Time) {
	t.Helper()
	ctx := context.Background()
	later := registry.Change{Status: registry.Deleted, Message: "leaked two keys", At: at.Add(time.Hour),
		By: "dns:acme"}
	n, records, err := db.SetArchiveStatus(ctx, ledger.Facet, "notes", "", later)
	if err != nil || n != 2 || len(records) != 2 || !records[0].StatusChangedAt.Equal(at) ||
		!records[1].StatusChangedAt.Equal(later.At) || *records[1].StatusEntry != 5 {
		t.Fatalf("%d %+v %v", n, records, err)
	}
	if got, err := db.Archive(ctx, ledger.Facet, "notes", registry.Latest); err != nil || got.Version != "2.0.0" {
		t.Errorf("of deleted ones the latest is %s, %v", got.Version, err)
	}
	if page, next, err := db.ArchiveVersions(ctx, ledger.Facet, "notes", "", false); err != nil || len(page) != 0 ||
		next != "" {
		t.Errorf("all deleted: %v, %q, %v", ArchiveSubjects(page), next, err)
	}
	if _, _, err := db.SetArchiveStatus(ctx, ledger.Facet, "notes", "", later); !errors.Is(err,
		registry.ErrUnchanged) {
		t.Errorf("again: %v", err)
	}
	for _, absent := range [][2]string{{"notes", "3.0.0"}, {"none", ""}} {
		if _, _, err := db.SetArchiveStatus(ctx, ledger.Facet, absent[0], absent[1], later); !errors.Is(err,
			registry.ErrNotFound) {
			t.Errorf("%q: %v", absent, err)
		}
	}
}

// checkDeletedLogged checks the entries of three changes, after those of three records.
func checkDeletedLogged(t *testing.T, db Shelves) {
	t.Helper()
	texts, err := db.LogEntries(context.Background(), 3, 10)
	if err != nil || len(texts) != 3 {
		t.Fatalf("%d entries, %v", len(texts), err)
	}
	leaf, err := ledger.ParseLeaf(texts[0])
	if err != nil || leaf.Kind != ledger.Status || leaf.Of != ledger.Facet || leaf.Status != "deleted" ||
		leaf.Publisher != "dns:acme" || leaf.Subject() == "" {
		t.Errorf("the entry is %s, %v", texts[0], err)
	}
}

// testArchiveFindings checks that findings are kept, shown with their record and logged.
func testArchiveFindings(t *testing.T, db Shelves) {
	Shelve(t, db, NewArchiveRecord(ledger.Plugin, "notes", "1.0.0", 0)) // another kind of the same name
	before := Shelve(t, db, NewArchiveRecord(ledger.Facet, "notes", "1.0.0", 0))
	checkFindingsRefused(t, db)
	addFindings(t, db)
	found := checkFindingsKept(t, db)
	checkFindingsShown(t, db, before, found[:registry.MaxFindings])
	logged := Entries(t, db)
	if last := logged[len(logged)-1]; len(logged) != 2+registry.MaxFindings+2 || last.Kind != ledger.Finding ||
		last.Of != ledger.Facet || last.Name != "notes" ||
		!evidence.Same(last.Document, CanonicalDigest(t, "[]")) {
		t.Errorf("%d entries, the last is %+v", len(logged), last)
	}
}

// facetFinding makes a finding about the facet notes@1.0.0, n hours after epoch.
func facetFinding(n int) registry.Finding {
	f := newFinding(n)
	f.Kind, f.Name = ledger.Facet, "notes"
	return f
}

// checkFindingsRefused checks that a finding about what does not exist, or is no archive, is not kept.
func checkFindingsRefused(t *testing.T, db Shelves) {
	t.Helper()
	ctx := context.Background()
	for _, wrong := range []registry.Finding{{Kind: ledger.Facet, Name: "notes", Version: "2.0.0"},
		{Kind: ledger.Facet, Name: "notes", Version: registry.Latest},
		{Kind: ledger.Artifact, Name: "notes", Version: "1.0.0"}} {
		if err := db.AddArchiveFinding(ctx, wrong); !errors.Is(err, registry.ErrNotFound) {
			t.Errorf("finding of nothing, %+v: %v", wrong, err)
		}
	}
	for _, wrong := range []registry.Finding{{Kind: ledger.Server, Name: "notes", Version: "1.0.0"},
		{Name: "notes", Version: "1.0.0"}} {
		if err := db.AddArchiveFinding(ctx, wrong); err == nil || errors.Is(err, registry.ErrNotFound) {
			t.Errorf("finding of no archive, %+v: %v", wrong, err)
		}
	}
}

// addFindings adds two findings more than are shown; the last has no evidence.
func addFindings(t *testing.T, db Shelves) {
	t.Helper()
	for n := range registry.MaxFindings + 2 {
		f := facetFinding(n)
		if f.At = f.At.Add(999 * time.Nanosecond); n == registry.MaxFindings+1 {
			f.Evidence = nil
		}
		if err := db.AddArchiveFinding(context.Background(), f); err != nil {
			t.Fatal(err)
		}
	}
}

// checkFindingsKept returns all findings about the facet, newest first, which are those that [addFindings] added.
func checkFindingsKept(t *testing.T, db Shelves) []registry.Finding {
	t.Helper()
	found, err := db.ArchiveFindings(context.Background(), ledger.Facet, "notes", "1.0.0")
	if err != nil || len(found) != registry.MaxFindings+2 {
		t.Fatalf("%d findings, %v", len(found), err)
	}
	want := facetFinding(registry.MaxFindings + 1)
	want.Evidence = json.RawMessage("[]")
	Equal(t, "newest", found[0], want)
	Equal(t, "oldest", found[registry.MaxFindings+1], facetFinding(0))
	return found
}

// checkFindingsShown checks that the record shows the findings and is otherwise as before, and that the plugin of the
// same name has none.
func checkFindingsShown(t *testing.T, db Shelves, before registry.ArchiveRecord, shown []registry.Finding) {
	t.Helper()
	ctx := context.Background()
	after, err := db.Archive(ctx, ledger.Facet, "notes", "1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	Equal(t, "shown", after.Findings, shown)
	if f := after.Findings[0]; f.Kind != ledger.Facet || f.Name != "notes" || f.Version != "1.0.0" {
		t.Errorf("a finding of %s %s@%s", f.Kind, f.Name, f.Version)
	}
	if page, _, err := db.ListArchives(ctx, ledger.Facet, registry.Query{}); err != nil || len(page) != 1 ||
		len(page[0].Findings) != registry.MaxFindings {
		t.Errorf("%+v, %v", page, err)
	}
	after.Findings = nil
	if got := FormatArchive(t, after); got != FormatArchive(t, before) {
		t.Errorf("the record changed:\n%s\n%s", got, FormatArchive(t, before))
	}
	other, err := db.Archive(ctx, ledger.Plugin, "notes", "1.0.0")
	if err != nil || len(other.Findings) != 0 {
		t.Errorf("of the plugin of that name: %+v, %v", other.Findings, err)
	}
	if found, err := db.ArchiveFindings(ctx, ledger.Plugin, "notes", "1.0.0"); err != nil || len(found) != 0 {
		t.Errorf("of the plugin of that name: %+v, %v", found, err)
	}
}

// testArchiveRestored checks a record that is inserted with a status.
func testArchiveRestored(t *testing.T, db Shelves) {
	rec := NewArchiveRecord(ledger.Facet, "notes", "1.0.0", 0)
	rec.Status, rec.StatusMessage = registry.Deleted, "gone"
	if got := Shelve(t, db, rec); *got.StatusEntry != 1 || !got.IsLatest {
		t.Errorf("%+v", got)
	}
	if got := Shelve(t, db, NewArchiveRecord(ledger.Facet, "notes", "0.9.0", 0)); !got.IsLatest {
		t.Error("a deleted version is the latest though there is another")
	}
}
