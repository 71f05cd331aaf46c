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
	ctx := context.Background()
	const name = "io.github.o/a"
	later := Epoch.Add(time.Hour)

	setUp := func(t *testing.T) RecordsWithStatus {
		r := open(t)
		for i, v := range []string{"1.0.0", "3.0.0", "2.0.0"} {
			Insert(t, r, Record(t, name, v, i))
		}
		Insert(t, r, Record(t, "io.github.o/b", "1.0.0", 9))
		return r
	}
	set := func(t *testing.T, r registry.Statuses, version string, c registry.Change) []registry.Record {
		t.Helper()
		n, records, err := r.SetStatus(ctx, name, version, c)
		if err != nil || n != len(records) {
			t.Fatalf("%s %+v: %d of %d, %v", version, c, n, len(records), err)
		}
		return records
	}
	latest := func(t *testing.T, r registry.Records, want string) {
		t.Helper()
		rec, err := r.Get(ctx, name, registry.Latest)
		if err != nil || rec.Version != want || !rec.IsLatest {
			t.Errorf("latest is %s (%v), want %s", rec.Version, err, want)
		}
		page, _, err := r.Versions(ctx, name, "")
		if err != nil {
			t.Fatal(err)
		}
		if n := len(slices.DeleteFunc(page, func(r registry.Record) bool { return !r.IsLatest })); n != 1 {
			t.Errorf("%d versions are the latest", n)
		}
	}

	t.Run("one", func(t *testing.T) {
		r := setUp(t)
		before, err := r.Get(ctx, name, "1.0.0")
		if err != nil {
			t.Fatal(err)
		}
		got := set(t, r, "1.0.0", registry.Change{Status: registry.Deprecated, Message: "use 3 <now> é", At: later})
		want := before
		want.Status, want.StatusMessage, want.StatusChangedAt, want.UpdatedAt = registry.Deprecated, "use 3 <now> é",
			later, later
		Equal(t, "answer", got, []registry.Record{want})
		kept, err := r.Get(ctx, name, "1.0.0")
		if err != nil {
			t.Fatal(err)
		}
		Equal(t, "kept", kept, want)
		latest(t, r, "3.0.0")

		// Another message is a change, but not of the status.
		got = set(t, r, "1.0.0",
			registry.Change{Status: registry.Deprecated, Message: "use 4", At: later.Add(time.Minute)})
		if !got[0].StatusChangedAt.Equal(later) || !got[0].UpdatedAt.Equal(later.Add(time.Minute)) {
			t.Errorf("times %v and %v", got[0].StatusChangedAt, got[0].UpdatedAt)
		}
		if _, _, err := r.SetStatus(ctx, name, "1.0.0",
			registry.Change{Status: registry.Deprecated, Message: "use 4", At: later}); !errors.Is(err,
			registry.ErrUnchanged) {
			t.Errorf("again: %v", err)
		}
		if got := set(t, r, "1.0.0",
			registry.Change{Status: registry.Active, Message: "", At: later}); got[0].StatusMessage != "" ||
			got[0].Status != registry.Active {
			t.Errorf("active again: %+v", got[0])
		}
		for _, c := range [][2]string{{name, "9"}, {"io.github.o/none", "1.0.0"}, {"io.github.o/none", ""}} {
			if _, _, err := r.SetStatus(ctx, c[0], c[1],
				registry.Change{Status: registry.Deleted, Message: "", At: later}); !errors.Is(err,
				registry.ErrNotFound) {
				t.Errorf("%v: %v", c, err)
			}
		}
	})

	t.Run("latest", func(t *testing.T) {
		r := setUp(t)
		latest(t, r, "3.0.0")
		if got := set(t, r, "3.0.0",
			registry.Change{Status: registry.Deleted, Message: "bad", At: later}); got[0].IsLatest {
			t.Error("a deleted version is the latest")
		}
		latest(t, r, "2.0.0")
		set(t, r, "2.0.0", registry.Change{Status: registry.Deprecated, Message: "", At: later})
		latest(t, r, "2.0.0")
		Insert(t, r, Record(t, name, "2.5.0", 20)) // below the deleted one
		latest(t, r, "2.5.0")
		set(t, r, "3.0.0", registry.Change{Status: registry.Active, Message: "", At: later})
		latest(t, r, "3.0.0")

		set(t, r, "", registry.Change{Status: registry.Deleted, Message: "all", At: later})
		latest(t, r, "3.0.0") // of those that are all deleted
		Insert(t, r, Record(t, name, "0.1.0", 30))
		latest(t, r, "0.1.0")
	})

	t.Run("all", func(t *testing.T) {
		r := setUp(t)
		set(t, r, "2.0.0", registry.Change{Status: registry.Deprecated, Message: "old", At: later})
		got := set(t, r, "", registry.Change{Status: registry.Deprecated, Message: "old", At: later.Add(time.Minute)})
		if s := subjects(got); !slices.Equal(s, []string{name + "@3.0.0", name + "@1.0.0"}) {
			t.Errorf("changed %v", s)
		}
		if rec, _ := r.Get(ctx, name, "2.0.0"); !rec.UpdatedAt.Equal(later) {
			t.Error("a record that was so already was touched")
		}
		if rec, _ := r.Get(ctx, "io.github.o/b", "1.0.0"); rec.Status != registry.Active {
			t.Error("another name changed too")
		}
		if _, _, err := r.SetStatus(ctx, name, "",
			registry.Change{Status: registry.Deprecated, Message: "old", At: later}); !errors.Is(err,
			registry.ErrUnchanged) {
			t.Errorf("again: %v", err)
		}
	})

	t.Run("list", func(t *testing.T) {
		r := setUp(t)
		set(t, r, "3.0.0", registry.Change{Status: registry.Deleted, Message: "", At: later})
		set(t, r, "1.0.0", registry.Change{Status: registry.Deprecated, Message: "", At: later})
		for _, c := range []struct {
			q    registry.Query
			want []string
		}{
			{registry.Query{}, []string{name + "@1.0.0", name + "@2.0.0", "io.github.o/b@1.0.0"}},
			{registry.Query{Deleted: true},
				[]string{name + "@1.0.0", name + "@2.0.0", name + "@3.0.0", "io.github.o/b@1.0.0"}},
			{registry.Query{Limit: 1}, []string{name + "@1.0.0", name + "@2.0.0", "io.github.o/b@1.0.0"}},
			{registry.Query{Version: registry.Latest}, []string{name + "@2.0.0", "io.github.o/b@1.0.0"}},
			{registry.Query{Version: "3.0.0"}, nil},
			{registry.Query{UpdatedSince: later}, []string{name + "@1.0.0"}},
			{registry.Query{UpdatedSince: later, Deleted: true}, []string{name + "@1.0.0", name + "@3.0.0"}},
			{registry.Query{Search: "o/a"}, []string{name + "@1.0.0", name + "@2.0.0"}},
		} {
			if got := All(t, r, c.q); !slices.Equal(got, c.want) {
				t.Errorf("%+v: %v, want %v", c.q, got, c.want)
			}
		}
	})

	t.Run("large", func(t *testing.T) {
		r := open(t)
		for i := range 6 {
			rec := Record(t, name, fmt.Sprintf("1.0.%d", i), i)
			doc := fmt.Sprintf(`{"name":%q,"version":%q,"description":%q}`, name, rec.Version,
				strings.Repeat("x", 1<<20-200))
			rec.Document, rec.Digest = []byte(doc), CanonicalDigest(t, doc)
			Insert(t, r, rec)
		}
		n, records, err := r.SetStatus(ctx, name, "",
			registry.Change{Status: registry.Deprecated, Message: "", At: later})
		if err != nil || n != 6 || len(records) == 0 || len(records) >= 6 {
			t.Errorf("%d changed, %d answered, %v", n, len(records), err)
		}
	})
}
