package registry

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/evidence"
)

// recordsWithStatus is what a database has to be for the suite below.
type recordsWithStatus interface {
	Records
	Statuses
}

// testStatuses is the conformance suite of Statuses, and of what Records do with a
// status. Open gives empty ones.
func testStatuses(t *testing.T, open func(*testing.T) recordsWithStatus) {
	ctx := context.Background()
	const name = "io.github.o/a"
	later := epoch.Add(time.Hour)

	setUp := func(t *testing.T) recordsWithStatus {
		r := open(t)
		for i, v := range []string{"1.0.0", "3.0.0", "2.0.0"} {
			insert(t, r, record(t, name, v, i))
		}
		insert(t, r, record(t, "io.github.o/b", "1.0.0", 9))
		return r
	}
	set := func(t *testing.T, r Statuses, version string, c Change) []Record {
		t.Helper()
		n, records, err := r.SetStatus(ctx, name, version, c)
		if err != nil || n != len(records) {
			t.Fatalf("%s %+v: %d of %d, %v", version, c, n, len(records), err)
		}
		return records
	}
	latest := func(t *testing.T, r Records, want string) {
		t.Helper()
		rec, err := r.Get(ctx, name, Latest)
		if err != nil || rec.Version != want || !rec.IsLatest {
			t.Errorf("latest is %s (%v), want %s", rec.Version, err, want)
		}
		page, _, err := r.Versions(ctx, name, "")
		if err != nil {
			t.Fatal(err)
		}
		if n := len(slices.DeleteFunc(page, func(r Record) bool { return !r.IsLatest })); n != 1 {
			t.Errorf("%d versions are the latest", n)
		}
	}

	t.Run("one", func(t *testing.T) {
		r := setUp(t)
		before, err := r.Get(ctx, name, "1.0.0")
		if err != nil {
			t.Fatal(err)
		}
		got := set(t, r, "1.0.0", Change{Status: Deprecated, Message: "use 3 <now> é", At: later})
		want := before
		want.Status, want.StatusMessage, want.StatusChangedAt, want.UpdatedAt = Deprecated, "use 3 <now> é", later, later
		equal(t, "answer", got, []Record{want})
		kept, err := r.Get(ctx, name, "1.0.0")
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "kept", kept, want)
		latest(t, r, "3.0.0")

		// Another message is a change, but not of the status.
		got = set(t, r, "1.0.0", Change{Status: Deprecated, Message: "use 4", At: later.Add(time.Minute)})
		if !got[0].StatusChangedAt.Equal(later) || !got[0].UpdatedAt.Equal(later.Add(time.Minute)) {
			t.Errorf("times %v and %v", got[0].StatusChangedAt, got[0].UpdatedAt)
		}
		if _, _, err := r.SetStatus(ctx, name, "1.0.0", Change{Status: Deprecated, Message: "use 4", At: later}); !errors.Is(err, ErrUnchanged) {
			t.Errorf("again: %v", err)
		}
		if got := set(t, r, "1.0.0", Change{Status: Active, Message: "", At: later}); got[0].StatusMessage != "" || got[0].Status != Active {
			t.Errorf("active again: %+v", got[0])
		}
		for _, c := range [][2]string{{name, "9"}, {"io.github.o/none", "1.0.0"}, {"io.github.o/none", ""}} {
			if _, _, err := r.SetStatus(ctx, c[0], c[1], Change{Status: Deleted, Message: "", At: later}); !errors.Is(err, ErrNotFound) {
				t.Errorf("%v: %v", c, err)
			}
		}
	})

	t.Run("latest", func(t *testing.T) {
		r := setUp(t)
		latest(t, r, "3.0.0")
		if got := set(t, r, "3.0.0", Change{Status: Deleted, Message: "bad", At: later}); got[0].IsLatest {
			t.Error("a deleted version is the latest")
		}
		latest(t, r, "2.0.0")
		set(t, r, "2.0.0", Change{Status: Deprecated, Message: "", At: later})
		latest(t, r, "2.0.0")
		insert(t, r, record(t, name, "2.5.0", 20)) // below the deleted one
		latest(t, r, "2.5.0")
		set(t, r, "3.0.0", Change{Status: Active, Message: "", At: later})
		latest(t, r, "3.0.0")

		set(t, r, "", Change{Status: Deleted, Message: "all", At: later})
		latest(t, r, "3.0.0") // of those that are all deleted
		insert(t, r, record(t, name, "0.1.0", 30))
		latest(t, r, "0.1.0")
	})

	t.Run("all", func(t *testing.T) {
		r := setUp(t)
		set(t, r, "2.0.0", Change{Status: Deprecated, Message: "old", At: later})
		got := set(t, r, "", Change{Status: Deprecated, Message: "old", At: later.Add(time.Minute)})
		if s := subjects(got); !slices.Equal(s, []string{name + "@3.0.0", name + "@1.0.0"}) {
			t.Errorf("changed %v", s)
		}
		if rec, _ := r.Get(ctx, name, "2.0.0"); !rec.UpdatedAt.Equal(later) {
			t.Error("a record that was so already was touched")
		}
		if rec, _ := r.Get(ctx, "io.github.o/b", "1.0.0"); rec.Status != Active {
			t.Error("another name changed too")
		}
		if _, _, err := r.SetStatus(ctx, name, "", Change{Status: Deprecated, Message: "old", At: later}); !errors.Is(err, ErrUnchanged) {
			t.Errorf("again: %v", err)
		}
	})

	t.Run("list", func(t *testing.T) {
		r := setUp(t)
		set(t, r, "3.0.0", Change{Status: Deleted, Message: "", At: later})
		set(t, r, "1.0.0", Change{Status: Deprecated, Message: "", At: later})
		for _, c := range []struct {
			q    Query
			want []string
		}{
			{Query{}, []string{name + "@1.0.0", name + "@2.0.0", "io.github.o/b@1.0.0"}},
			{Query{Deleted: true}, []string{name + "@1.0.0", name + "@2.0.0", name + "@3.0.0", "io.github.o/b@1.0.0"}},
			{Query{Limit: 1}, []string{name + "@1.0.0", name + "@2.0.0", "io.github.o/b@1.0.0"}},
			{Query{Version: Latest}, []string{name + "@2.0.0", "io.github.o/b@1.0.0"}},
			{Query{Version: "3.0.0"}, nil},
			{Query{UpdatedSince: later}, []string{name + "@1.0.0"}},
			{Query{UpdatedSince: later, Deleted: true}, []string{name + "@1.0.0", name + "@3.0.0"}},
			{Query{Search: "o/a"}, []string{name + "@1.0.0", name + "@2.0.0"}},
		} {
			if got := all(t, r, c.q); !slices.Equal(got, c.want) {
				t.Errorf("%+v: %v, want %v", c.q, got, c.want)
			}
		}
	})

	t.Run("large", func(t *testing.T) {
		r := open(t)
		for i := range 6 {
			rec := record(t, name, fmt.Sprintf("1.0.%d", i), i)
			doc := fmt.Sprintf(`{"name":%q,"version":%q,"description":%q}`, name, rec.Version, strings.Repeat("x", 1<<20-200))
			rec.Document, rec.Digest = []byte(doc), canonicalDigest(t, doc)
			insert(t, r, rec)
		}
		n, records, err := r.SetStatus(ctx, name, "", Change{Status: Deprecated, Message: "", At: later})
		if err != nil || n != 6 || len(records) == 0 || len(records) >= 6 {
			t.Errorf("%d changed, %d answered, %v", n, len(records), err)
		}
	})
}

func TestSQLiteStatuses(t *testing.T) {
	testStatuses(t, func(t *testing.T) recordsWithStatus { return openTest(t, filepath.Join(t.TempDir(), "registry.db")) })
}

func TestStatusRequests(t *testing.T) {
	f := serve(t, evidence.Report{matching(npmID)}, nil)
	ctx := context.Background()
	const name = "io.github.o/notes"
	for _, v := range []string{"1.0.0", "2.0.0"} {
		if _, err := f.Publish(ctx, document(name, v), ""); err != nil {
			t.Fatal(err)
		}
	}
	mine, other := apiToken(t, f, "io.github.o/*"), apiToken(t, f, "io.github.other/*")
	const path = "/v0/servers/io.github.o%2Fnotes"
	long := strings.Repeat("é", 500)
	for _, c := range []struct {
		path, token, body string
		status            int
		part              string
	}{
		{"/versions/1.0.0/status", "", `{"status":"deleted"}`, 401, "token"},
		{"/versions/1.0.0/status", other, `{"status":"deleted"}`, 403, "io.github.other/*"},
		{"/status", other, `{"status":"deleted"}`, 403, "io.github.other/*"},
		{"/versions/1.0.0/status", mine, `{"status":"active"}`, 400, "nothing to change"},
		{"/versions/1.0.0/status", mine, `{"status":"active","statusMessage":"x"}`, 400, "does not go with"},
		{"/versions/1.0.0/status", mine, `{"status":"active","statusMessage":""}`, 400, "does not go with"},
		{"/versions/1.0.0/status", mine, `{"status":"gone"}`, 422, "status"},
		{"/versions/1.0.0/status", mine, `{}`, 422, "status"},
		{"/versions/1.0.0/status", mine, `{"status":"deleted","other":1}`, 422, "other"},
		{"/versions/1.0.0/status", mine, `{"status":"deprecated","statusMessage":"` + long + `x"}`, 422, "500"},
		{"/versions/1.0.0/status", mine, `{"status":"deprecated","statusMessage":"a\u0000b"}`, 422, "NUL"},
		{"/versions/9.0.0/status", mine, `{"status":"deleted"}`, 404, "not found"},
		{"/versions/latest/status", mine, `{"status":"deleted"}`, 404, "name a version"},
		{"/versions/1.0.0/status", mine, `{"status":"deprecated","statusMessage":"` + long + `"}`, 200, `"status":"deprecated"`},
		{"/versions/1.0.0/status", mine, `{"status":"deprecated","statusMessage":"` + long + `"}`, 400, "nothing to change"},
		{"/versions/1.0.0/status", mine, `{"status":"deleted"}`, 200, `"status":"deleted"`},
		{"/versions/1.0.0/status", mine, `{"status":"deleted","statusMessage":""}`, 400, "nothing to change"},
		{"/status", mine, `{"status":"deprecated","statusMessage":"x"}`, 200, `"updatedCount":2`},
		{"/status", mine, `{"status":"deprecated","statusMessage":"x"}`, 400, "nothing to change"},
		{"/status", mine, `{"status":"active"}`, 200, `"updatedCount":2`},
		{"/versions/1.0.0/status", mine, `{"status":"deleted","statusMessage":"bad"}`, 200, `"statusMessage":"bad"`},
	} {
		headers := []string{"Content-Type", "application/json"}
		if c.token != "" {
			headers = append(headers, "Authorization", "Bearer "+c.token)
		}
		res, text := send(t, "PATCH", f.URL+path+c.path, c.body, headers...)
		if res.StatusCode != c.status || !strings.Contains(text, c.part) {
			t.Errorf("%s %.80s: %d %s, want %d with %s", c.path, c.body, res.StatusCode, text, c.status, c.part)
		}
	}

	// 1.0.0 is deleted now, 2.0.0 is not.
	for _, c := range []struct {
		path   string
		status int
		want   string
	}{
		{path + "/versions/1.0.0", 404, ""},
		{path + "/versions/1.0.0?include_deleted=true", 200, `"status":"deleted"`},
		{path + "/versions/latest", 200, "\"version\": \"2.0.0\""},
		{path + "/versions", 200, `"count":1`},
		{path + "/versions?include_deleted=true", 200, `"count":2`},
		{"/v0/servers", 200, `"count":1`},
		{"/v0/servers?include_deleted=false", 200, `"count":1`},
		{"/v0/servers?include_deleted=true", 200, `"count":2`},
		{"/v0/servers?include_deleted=maybe", 422, "include_deleted"},
		{"/v0/servers?updated_since=2026-01-01T00:00:00Z", 200, `"count":2`},
		{"/v0/servers?updated_since=2026-01-01T00:00:00Z&include_deleted=true", 200, `"count":2`},
		{"/v0/servers?updated_since=2026-01-01T00:00:00Z&include_deleted=false", 400, "learn of them"},
	} {
		res, text := send(t, "GET", f.URL+c.path, "")
		if res.StatusCode != c.status || !strings.Contains(strings.ReplaceAll(text, `"version":"`, `"version": "`), c.want) {
			t.Errorf("%s: %d %s, want %d with %s", c.path, res.StatusCode, text, c.status, c.want)
		}
	}
	send(t, "PATCH", f.URL+path+"/versions/2.0.0/status", `{"status":"deleted"}`, "Content-Type", "application/json", "Authorization", "Bearer "+mine)
	if res, _ := send(t, "GET", f.URL+path+"/versions", ""); res.StatusCode != 404 {
		t.Errorf("all deleted: %d", res.StatusCode)
	}
	if res, _ := send(t, "GET", f.URL+path+"/versions/latest", ""); res.StatusCode != 404 {
		t.Errorf("all deleted: latest is %d", res.StatusCode)
	}
	// What was published stays published: the version cannot be taken by another document.
	_, err := f.Publish(ctx, []byte(strings.Replace(string(document(name, "2.0.0")), "reads", "writes", 1)), mine)
	wantProblem(t, err, 409)
	if got := f.Counters.StatusChanges.Load(); got != 8 {
		t.Errorf("%d changes counted", got)
	}
}

// deletedPages are so many pages of a name's versions that are deleted, and one that is not.
type deletedPages struct {
	Records
	pages, read int
}

func (d *deletedPages) Versions(_ context.Context, name, after string) ([]Record, string, error) {
	d.read++
	at, err := parseCursor(after)
	if err != nil {
		return nil, "", err
	}
	n := 0
	if after != "" {
		if _, err := fmt.Sscanf(at.version, "1.0.%d", &n); err != nil {
			return nil, "", err
		}
	}
	rec := Record{Name: name, Version: fmt.Sprintf("1.0.%d", n+1), Status: Deleted}
	rec.Document = fmt.Appendf(nil, `{"name":%q,"version":%q}`, name, rec.Version)
	if n == d.pages {
		rec.Status = Active
		return []Record{rec}, "", nil
	}
	return []Record{rec}, cursor{name, rec.Version}.String(), nil
}

// One request does not read everything that was ever deleted, and who follows the
// cursors finds what was not.
func TestManyDeleted(t *testing.T) {
	for pages, reads := range map[int]int{0: 1, 2: 3, maxSkipped: maxSkipped + 1, 3*maxSkipped + 5: maxSkipped + 1} {
		d := &deletedPages{pages: pages}
		f := serve(t, nil, func(c *Config) { d.Records, c.Records = c.Records, d })
		res, err := http.Get(f.URL + "/v0/servers/com.example%2Fnotes/versions")
		if err != nil || res.StatusCode != 200 || d.read != reads {
			t.Errorf("%d pages: %d reads, %v", pages, d.read, err)
		}
		res.Body.Close()
		all, err := f.Versions(t.Context(), "com.example/notes")
		if err != nil || len(all) != 1 {
			t.Errorf("%d pages: %d versions, %v", pages, len(all), err)
		}
	}
}

// What an answer says of a record, the log says too: who verifies both would refuse the
// record otherwise.
func TestStatusIsInTheLogWhenAnswered(t *testing.T) {
	ctx := context.Background()
	f, l := serveLog(t, nil)
	const name = "io.github.acme/notes"
	for _, v := range []string{"1.0.0", "2.0.0"} {
		if _, err := f.Publish(ctx, document(name, v), ""); err != nil {
			t.Fatal(err)
		}
	}
	token := apiToken(t, f, "io.github.acme/*")
	size := int64(2)
	for i, c := range []struct {
		path, body string
		entries    int64
	}{
		{"/versions/1.0.0/status", `{"status":"deleted"}`, 1},
		{"/versions/1.0.0/status", `{"status":"active"}`, 1},
		{"/status", `{"status":"deprecated"}`, 2},
		{"/status", `{"status":"active"}`, 2},
	} {
		path := f.URL + "/v0/servers/" + strings.Replace(name, "/", "%2F", 1) + c.path
		if res, text := send(t, "PATCH", path, c.body, "Content-Type", "application/json", "Authorization", "Bearer "+token); res.StatusCode != 200 {
			t.Fatalf("change %d: %d %s", i, res.StatusCode, text)
		}
		if size += c.entries; l.Head().Size != size {
			t.Errorf("change %d was answered with a checkpoint of %d entries, want %d", i, l.Head().Size, size)
		}
	}
}
