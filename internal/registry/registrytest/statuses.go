package registrytest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/internal/registry"
)

// RecordsWithStatus is what a database has to be for the suite below.
type RecordsWithStatus interface {
	registry.Records
	registry.Statuses
}

// TestStatuses is the conformance suite of Statuses, and of what Records do with a
// status. Open gives empty ones.
func TestStatuses(t *testing.T, open func(*testing.T) RecordsWithStatus) {
	t.Run("one", func(t *testing.T) { testStatusOne(t, insertForStatus(t, open)) })
	t.Run("latest", func(t *testing.T) { testStatusLatest(t, insertForStatus(t, open)) })
	t.Run("all", func(t *testing.T) { testStatusAll(t, insertForStatus(t, open)) })
	t.Run("list", func(t *testing.T) { testStatusList(t, insertForStatus(t, open)) })
	t.Run("large", func(t *testing.T) { testStatusLarge(t, open(t)) })
}

// Whose status the suite changes, and when.
const changedName = "io.github.o/a"

var changedAt = Epoch.Add(time.Hour)

// insertForStatus opens a database and inserts three versions of changedName, and one of another name.
func insertForStatus(t *testing.T, open func(*testing.T) RecordsWithStatus) RecordsWithStatus {
	r := open(t)
	for i, v := range []string{"1.0.0", "3.0.0", "2.0.0"} {
		Insert(t, r, Record(t, changedName, v, i))
	}
	Insert(t, r, Record(t, "io.github.o/b", "1.0.0", 9))
	return r
}

// setStatus changes a version of changedName, all if it is empty, and returns the records that changed.
func setStatus(t *testing.T, r registry.Statuses, version string, c registry.Change) []registry.Record {
	t.Helper()
	n, records, err := r.SetStatus(context.Background(), changedName, version, c)
	if err != nil || n != len(records) {
		t.Fatalf("%s %+v: %d of %d, %v", version, c, n, len(records), err)
	}
	return records
}

// checkLatest demands that want is the latest version of changedName, and the only one.
func checkLatest(t *testing.T, r registry.Records, want string) {
	t.Helper()
	ctx := context.Background()
	rec, err := r.Get(ctx, changedName, registry.Latest)
	if err != nil || rec.Version != want || !rec.IsLatest {
		t.Errorf("latest is %s (%v), want %s", rec.Version, err, want)
	}
	page, _, err := r.Versions(ctx, changedName, "")
	if err != nil {
		t.Fatal(err)
	}
	if n := len(slices.DeleteFunc(page, func(r registry.Record) bool { return !r.IsLatest })); n != 1 {
		t.Errorf("%d versions are the latest", n)
	}
}

// testStatusOne checks a change of the status of one version.
func testStatusOne(t *testing.T, r RecordsWithStatus) {
	ctx := context.Background()
	before, err := r.Get(ctx, changedName, "1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	got := setStatus(t, r, "1.0.0", registry.Change{Status: registry.Deprecated, Message: "use 3 <now> é",
		At: changedAt})
	want := before
	want.Status, want.StatusMessage, want.StatusChangedAt, want.UpdatedAt = registry.Deprecated, "use 3 <now> é",
		changedAt, changedAt
	Equal(t, "answer", got, []registry.Record{want})
	kept, err := r.Get(ctx, changedName, "1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	Equal(t, "kept", kept, want)
	checkLatest(t, r, "3.0.0")

	// Another message is a change, but not of the status.
	got = setStatus(t, r, "1.0.0",
		registry.Change{Status: registry.Deprecated, Message: "use 4", At: changedAt.Add(time.Minute)})
	if !got[0].StatusChangedAt.Equal(changedAt) || !got[0].UpdatedAt.Equal(changedAt.Add(time.Minute)) {
		t.Errorf("times %v and %v", got[0].StatusChangedAt, got[0].UpdatedAt)
	}
	if _, _, err := r.SetStatus(ctx, changedName, "1.0.0",
		registry.Change{Status: registry.Deprecated, Message: "use 4", At: changedAt}); !errors.Is(err,
		registry.ErrUnchanged) {
		t.Errorf("again: %v", err)
	}
	if got := setStatus(t, r, "1.0.0",
		registry.Change{Status: registry.Active, Message: "", At: changedAt}); got[0].StatusMessage != "" ||
		got[0].Status != registry.Active {
		t.Errorf("active again: %+v", got[0])
	}
	for _, c := range [][2]string{{changedName, "9"}, {"io.github.o/none", "1.0.0"}, {"io.github.o/none", ""}} {
		if _, _, err := r.SetStatus(ctx, c[0], c[1],
			registry.Change{Status: registry.Deleted, Message: "", At: changedAt}); !errors.Is(err,
			registry.ErrNotFound) {
			t.Errorf("%v: %v", c, err)
		}
	}
}

// testStatusLatest checks that a deleted version is the latest only if all are deleted.
func testStatusLatest(t *testing.T, r RecordsWithStatus) {
	checkLatest(t, r, "3.0.0")
	if got := setStatus(t, r, "3.0.0",
		registry.Change{Status: registry.Deleted, Message: "bad", At: changedAt}); got[0].IsLatest {
		t.Error("a deleted version is the latest")
	}
	checkLatest(t, r, "2.0.0")
	setStatus(t, r, "2.0.0", registry.Change{Status: registry.Deprecated, Message: "", At: changedAt})
	checkLatest(t, r, "2.0.0")
	Insert(t, r, Record(t, changedName, "2.5.0", 20)) // below the deleted one
	checkLatest(t, r, "2.5.0")
	setStatus(t, r, "3.0.0", registry.Change{Status: registry.Active, Message: "", At: changedAt})
	checkLatest(t, r, "3.0.0")

	setStatus(t, r, "", registry.Change{Status: registry.Deleted, Message: "all", At: changedAt})
	checkLatest(t, r, "3.0.0") // of those that are all deleted
	Insert(t, r, Record(t, changedName, "0.1.0", 30))
	checkLatest(t, r, "0.1.0")
}

// testStatusAll checks a change of the status of all versions of a name.
func testStatusAll(t *testing.T, r RecordsWithStatus) {
	ctx := context.Background()
	setStatus(t, r, "2.0.0", registry.Change{Status: registry.Deprecated, Message: "old", At: changedAt})
	got := setStatus(t, r, "", registry.Change{Status: registry.Deprecated, Message: "old",
		At: changedAt.Add(time.Minute)})
	if s := subjects(got); !slices.Equal(s, []string{changedName + "@3.0.0", changedName + "@1.0.0"}) {
		t.Errorf("changed %v", s)
	}
	if rec, _ := r.Get(ctx, changedName, "2.0.0"); !rec.UpdatedAt.Equal(changedAt) {
		t.Error("a record that was so already was touched")
	}
	if rec, _ := r.Get(ctx, "io.github.o/b", "1.0.0"); rec.Status != registry.Active {
		t.Error("another name changed too")
	}
	if _, _, err := r.SetStatus(ctx, changedName, "",
		registry.Change{Status: registry.Deprecated, Message: "old", At: changedAt}); !errors.Is(err,
		registry.ErrUnchanged) {
		t.Errorf("again: %v", err)
	}
}

// testStatusList checks that a list has deleted records only if it is asked for them.
func testStatusList(t *testing.T, r RecordsWithStatus) {
	setStatus(t, r, "3.0.0", registry.Change{Status: registry.Deleted, Message: "", At: changedAt})
	setStatus(t, r, "1.0.0", registry.Change{Status: registry.Deprecated, Message: "", At: changedAt})
	for _, c := range []struct {
		q    registry.Query
		want []string
	}{
		{registry.Query{}, []string{changedName + "@1.0.0", changedName + "@2.0.0", "io.github.o/b@1.0.0"}},
		{registry.Query{Deleted: true},
			[]string{changedName + "@1.0.0", changedName + "@2.0.0", changedName + "@3.0.0", "io.github.o/b@1.0.0"}},
		{registry.Query{Limit: 1}, []string{changedName + "@1.0.0", changedName + "@2.0.0", "io.github.o/b@1.0.0"}},
		{registry.Query{Version: registry.Latest}, []string{changedName + "@2.0.0", "io.github.o/b@1.0.0"}},
		{registry.Query{Version: "3.0.0"}, nil},
		{registry.Query{UpdatedSince: changedAt}, []string{changedName + "@1.0.0"}},
		{registry.Query{UpdatedSince: changedAt, Deleted: true},
			[]string{changedName + "@1.0.0", changedName + "@3.0.0"}},
		{registry.Query{Search: "o/a"}, []string{changedName + "@1.0.0", changedName + "@2.0.0"}},
	} {
		if got := All(t, r, c.q); !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v, want %v", c.q, got, c.want)
		}
	}
}

// testStatusLarge checks that an answer with many large records is cut.
func testStatusLarge(t *testing.T, r RecordsWithStatus) {
	ctx := context.Background()
	for i := range 6 {
		rec := Record(t, changedName, fmt.Sprintf("1.0.%d", i), i)
		doc := fmt.Sprintf(`{"name":%q,"version":%q,"description":%q}`, changedName, rec.Version,
			strings.Repeat("x", 1<<20-200))
		rec.Document, rec.Digest = []byte(doc), CanonicalDigest(t, doc)
		Insert(t, r, rec)
	}
	n, records, err := r.SetStatus(ctx, changedName, "",
		registry.Change{Status: registry.Deprecated, Message: "", At: changedAt})
	if err != nil || n != 6 || len(records) == 0 || len(records) >= 6 {
		t.Errorf("%d changed, %d answered, %v", n, len(records), err)
	}
}
