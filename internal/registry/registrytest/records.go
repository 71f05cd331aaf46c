// Package registrytest holds what the tests of several packages share: records, evidence,
// requests, a DNS server, and the conformance suites of what keeps records, tokens, logs and heads.
package registrytest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/policy"
)

// TestRecords is the conformance suite. Open gives empty records.
func TestRecords(t *testing.T, open func(*testing.T) registry.Records) {
	t.Run("insert and get", func(t *testing.T) { testRecordInserted(t, open(t)) })
	t.Run("a document stays as it was published", func(t *testing.T) { testDocumentKept(t, open(t)) })
	t.Run("nothing checked", func(t *testing.T) { testRecordUnchecked(t, open(t)) })
	t.Run("only what is admitted", func(t *testing.T) { testRecordAdmitted(t, open(t)) })
	t.Run("a version exists once", func(t *testing.T) { testVersionUnique(t, open(t)) })
	t.Run("latest", func(t *testing.T) { testLatest(t, open) })
	t.Run("latest does not depend on the order", func(t *testing.T) { testLatestOrder(t, open) })
	t.Run("order and pages", func(t *testing.T) { testPages(t, open(t)) })
	t.Run("pages are stable under inserts", func(t *testing.T) { testPagesStable(t, open(t)) })
	t.Run("search", func(t *testing.T) { testSearch(t, open(t)) })
	t.Run("updated since", func(t *testing.T) { testUpdatedSince(t, open(t)) })
	t.Run("versions", func(t *testing.T) { testVersions(t, open(t)) })
	t.Run("large records end a page", func(t *testing.T) { testLargePages(t, open(t)) })
	t.Run("cursors", func(t *testing.T) { testCursors(t, open(t)) })
	t.Run("one of many publishers wins", func(t *testing.T) { testPublishersRace(t, open(t)) })
	t.Run("concurrent versions leave one latest", func(t *testing.T) { testVersionsRace(t, open(t)) })
	t.Run("cancelled", func(t *testing.T) { testRecordsCancelled(t, open(t)) })
}

// testRecordInserted checks that a record is read as it was inserted, and that one that was not inserted is not found.
func testRecordInserted(t *testing.T, r registry.Records) {
	ctx := context.Background()
	rec := Record(t, "io.github.o/a", "1.0.0", 0)
	rec.PublishedAt = rec.PublishedAt.Add(999 * time.Nanosecond).In(time.FixedZone("x", 3600))
	got := Insert(t, r, rec)
	if !got.IsLatest || got.Status != registry.Active {
		t.Errorf("inserted: latest %t, status %q", got.IsLatest, got.Status)
	}
	if !got.PublishedAt.Equal(Epoch) || got.PublishedAt.Location() != time.UTC {
		t.Errorf("published at %v, want %v", got.PublishedAt, Epoch)
	}
	for _, version := range []string{"1.0.0", registry.Latest} {
		read, err := r.Get(ctx, "io.github.o/a", version)
		if err != nil {
			t.Fatal(err)
		}
		Equal(t, version, read, got)
		if string(read.Document) != string(rec.Document) {
			t.Errorf("document %s, want %s", read.Document, rec.Document)
		}
	}
	for _, absent := range [][2]string{{"io.github.o/a", "1.0.1"}, {"io.github.o/b", "1.0.0"},
		{"io.github.o/b", registry.Latest}, {"IO.github.o/a", "1.0.0"}, {"", ""}} {
		if _, err := r.Get(ctx, absent[0], absent[1]); !errors.Is(err, registry.ErrNotFound) {
			t.Errorf("get %q: %v, want ErrNotFound", absent, err)
		}
		if got, err := r.AppendRecord(ctx, []byte("x"), absent[0], absent[1], true); !errors.Is(err,
			registry.ErrNotFound) || string(got) != "x" {
			t.Errorf("answer of %q: %s, %v, want ErrNotFound", absent, got, err)
		}
	}
}

// testDocumentKept checks that a document is answered byte for byte.
func testDocumentKept(t *testing.T, r registry.Records) {
	ctx := context.Background()
	for i, doc := range []string{"{}", "{ }", "\n{\"a\" :\t[ 1,2 ]\r\n}\n", `{"a":"<b>&\u003c\u2028é"}`,
		`{"_meta":{"x":1},"server":{}}`, `{"a":1.0,"b":1e2}`} {
		rec := Record(t, "io.github.o/a", fmt.Sprintf("1.0.%d", i), i)
		rec.Document, rec.Digest = json.RawMessage(doc), CanonicalDigest(t, doc)
		got := Insert(t, r, rec)
		read, err := r.Get(ctx, rec.Name, rec.Version)
		if err != nil || string(read.Document) != doc || string(got.Document) != doc {
			t.Errorf("%q was inserted as %q and read as %q (%v)", doc, got.Document, read.Document, err)
		}
		first, err := r.Insert(ctx, Admission(rec), rec)
		if !errors.Is(err, registry.ErrExists) || string(first.Document) != doc {
			t.Errorf("%q is answered as %q (%v)", doc, first.Document, err)
		}
	}
	page, _, err := r.Versions(ctx, "io.github.o/a", "")
	if err != nil || len(page) != 6 || string(page[5].Document) != "{}" || string(page[4].Document) != "{ }" {
		t.Errorf("%d versions, error %v", len(page), err)
	}
}

// testRecordUnchecked checks a record of which nothing was verified.
func testRecordUnchecked(t *testing.T, r registry.Records) {
	ctx := context.Background()
	rec := Record(t, "io.github.o/a", "1.0.0", 0)
	rec.VerifiedAt, rec.Evidence = time.Time{}, nil
	Insert(t, r, rec)
	got, err := r.Get(ctx, rec.Name, rec.Version)
	if err != nil || !got.VerifiedAt.IsZero() || string(got.Evidence) != "[]" {
		t.Errorf("verified at %v, evidence %s, error %v", got.VerifiedAt, got.Evidence, err)
	}
}

// testRecordAdmitted checks that a record is inserted only with an admission of this record by the right flow.
func testRecordAdmitted(t *testing.T, r registry.Records) {
	ctx := context.Background()
	rec := Record(t, "io.github.o/a", "1.0.0", 0)
	other := Record(t, "io.github.o/a", "2.0.0", 0)
	forged := rec
	forged.Document = other.Document
	wrongFlow := policy.Judge(policy.Check, policy.Settings{}, evidence.Report{evidence.Compare(
		evidence.Claim{Subject: rec.Subject(), Scheme: evidence.Document, Authority: evidence.Lock,
			Want: []digest.Digest{rec.Digest}},
		evidence.Observed{Digests: []digest.Digest{rec.Digest}})}).Admitted()
	for name, try := range map[string]struct {
		a   policy.Admitted
		rec registry.Record
	}{
		"zero":             {policy.Admitted{}, rec},
		"another version":  {Admission(other), rec},
		"another flow":     {wrongFlow, rec},
		"another document": {Admission(rec), forged},
		"another digest": {Admission(rec),
			registry.Record{Name: rec.Name, Version: rec.Version, Document: other.Document, Digest: other.Digest}},
		"a document not of JSON": {Admission(rec),
			registry.Record{Name: rec.Name, Version: rec.Version, Document: json.RawMessage(`{`),
				Digest: rec.Digest}},
	} {
		if _, err := r.Insert(ctx, try.a, try.rec); err == nil || errors.Is(err, registry.ErrExists) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := All(t, r, registry.Query{}); len(got) > 0 {
		t.Errorf("inserted %v", got)
	}
}

// testVersionUnique checks that a second record of a version is answered by the first.
func testVersionUnique(t *testing.T, r registry.Records) {
	ctx := context.Background()
	first := Insert(t, r, Record(t, "io.github.o/a", "1.0.0", 0))
	for _, doc := range []string{string(first.Document),
		`{"name":"io.github.o/a","version":"1.0.0","title":"other"}`} {
		again := Record(t, "io.github.o/a", "1.0.0", 5)
		again.Document, again.Digest = json.RawMessage(doc), CanonicalDigest(t, doc)
		got, err := r.Insert(ctx, Admission(again), again)
		if !errors.Is(err, registry.ErrExists) {
			t.Fatalf("error %v, want ErrExists", err)
		}
		Equal(t, "the first record", got, first)
	}
	got, err := r.Get(ctx, "io.github.o/a", registry.Latest)
	if err != nil {
		t.Fatal(err)
	}
	Equal(t, "the record", got, first)
	Insert(t, r, Record(t, "io.github.o/b", "1.0.0", 0)) // another name is another record
}

// testLatest checks which of several versions is the latest, after each insertion.
func testLatest(t *testing.T, open func(*testing.T) registry.Records) {
	ctx := context.Background()
	type step struct {
		version string
		minutes int
		latest  string
	}
	for name, steps := range map[string][]step{
		"ascending":        {{"1.0.0", 0, "1.0.0"}, {"1.0.1", 1, "1.0.1"}, {"1.10.0", 2, "1.10.0"}},
		"backport":         {{"2.0.0", 0, "2.0.0"}, {"1.9.9", 1, "2.0.0"}},
		"numeric":          {{"1.9.0", 0, "1.9.0"}, {"1.10.0", 1, "1.10.0"}, {"1.9.1", 2, "1.10.0"}},
		"prerelease":       {{"1.0.0", 0, "1.0.0"}, {"1.0.0-rc.1", 1, "1.0.0"}, {"1.0.1-rc.1", 2, "1.0.1-rc.1"}},
		"other text":       {{"zeta", 0, "zeta"}, {"alpha", 1, "alpha"}, {"beta", 0, "alpha"}},
		"semver above":     {{"2026-nightly", 5, "2026-nightly"}, {"0.0.1", 0, "0.0.1"}, {"snapshot", 9, "0.0.1"}},
		"not three parts":  {{"99", 0, "99"}, {"1.0.0", 0, "1.0.0"}, {"100.1", 9, "1.0.0"}},
		"leading v":        {{"v1.0.0", 0, "v1.0.0"}, {"1.0.1", 1, "1.0.1"}},
		"build metadata":   {{"1.0.0+a", 1, "1.0.0+a"}, {"1.0.0+b", 2, "1.0.0+b"}, {"1.0.0+c", 0, "1.0.0+b"}},
		"the same instant": {{"b", 0, "b"}, {"a", 0, "b"}, {"c", 0, "c"}},
	} {
		r := open(t)
		for _, s := range steps {
			got := Insert(t, r, Record(t, "io.github.o/a", s.version, s.minutes))
			if got.IsLatest != (s.version == s.latest) {
				t.Errorf("%s: %s inserted with latest %t", name, s.version, got.IsLatest)
			}
			latest, err := r.Get(ctx, "io.github.o/a", registry.Latest)
			if err != nil || latest.Version != s.latest || !latest.IsLatest {
				t.Errorf("%s: after %s the latest is %s (%v), want %s", name, s.version, latest.Version, err,
					s.latest)
			}
		}
		Equal(t, name+": list of the latest", All(t, r, registry.Query{Version: registry.Latest}),
			[]string{"io.github.o/a@" + steps[len(steps)-1].latest})
	}
}

// testLatestOrder checks that versions inserted in any order have the same latest.
func testLatestOrder(t *testing.T, open func(*testing.T) registry.Records) {
	ctx := context.Background()
	versions := []string{"1.0.0", "1.0.0+x", "v1.0.0", "1.0.0-a", "0.9.0", "x", "y", "1", "1.0"}
	for seed := range uint64(8) {
		r := open(t)
		for _, i := range rand.New(rand.NewPCG(seed, 0)).Perm(len(versions)) {
			Insert(t, r, Record(t, "io.github.o/a", versions[i], i%3))
		}
		if got, err := r.Get(ctx, "io.github.o/a", registry.Latest); err != nil || got.Version != "v1.0.0" {
			t.Errorf("seed %d: latest %s (%v)", seed, got.Version, err)
		}
	}
}

// testPages checks the order of a list, and that pages of any size join to it.
func testPages(t *testing.T, r registry.Records) {
	ctx := context.Background()
	var want []string
	for _, name := range []string{"B.example/x", "a.example/x", "a.example/x-", "a.example/x.y", "a.example/x0",
		"io.github.o/a", "é.example/x"} {
		for _, version := range []string{"1.0.0", "1.10.0", "1.9.0", "É"} {
			want = append(want, name+"@"+version)
		}
	}
	order := rand.New(rand.NewPCG(1, 2)).Perm(len(want))
	for i, j := range order {
		name, version, _ := strings.Cut(want[j], "@")
		Insert(t, r, Record(t, name, version, i))
	}
	for _, limit := range []int{0, 1, 2, 3, 27, 28, 29, 100} {
		Equal(t, fmt.Sprintf("limit %d", limit), All(t, r, registry.Query{Limit: limit}), want)
	}
	if _, next, err := r.List(ctx, registry.Query{Limit: 28}); err != nil || next != "" {
		t.Errorf("a full last page has the cursor %q (%v)", next, err)
	}
	Equal(t, "exact version", All(t, r, registry.Query{Version: "1.10.0", Limit: 2}), filter(want, "@1.10.0"))
	Equal(t, "absent version", All(t, r, registry.Query{Version: "3"}), []string(nil))
	var latest []string
	for _, s := range want {
		if strings.HasSuffix(s, "@1.10.0") {
			latest = append(latest, s)
		}
	}
	Equal(t, "latest", All(t, r, registry.Query{Version: registry.Latest, Limit: 3}), latest)
}

// testPagesStable checks that a list that is read while others insert has each record that was there before.
func testPagesStable(t *testing.T, r registry.Records) {
	ctx := context.Background()
	var want []string
	for i := range 40 {
		rec := Record(t, fmt.Sprintf("io.github.o/s%02d", i), "1.0.0", i)
		want = append(want, rec.Subject())
		Insert(t, r, rec)
	}
	var got []string
	q := registry.Query{Limit: 7}
	for n := 0; ; n++ {
		page, next, err := r.List(ctx, q)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, subjects(page)...)
		if next == "" {
			break
		}
		q.Cursor = next
		Insert(t, r, Record(t, fmt.Sprintf("io.github.o/r%02d", n), "1.0.0", 99))       // before the cursor
		Insert(t, r, Record(t, fmt.Sprintf("io.github.o/s%02d", 39), fmt.Sprint(n), 1)) // after it
	}
	old := slices.DeleteFunc(slices.Clone(got), func(s string) bool { return !slices.Contains(want, s) })
	Equal(t, "records that were there", old, want)
	if slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, "/r") }) {
		t.Errorf("records before the cursor appear: %v", got)
	}
}

// testSearch checks which names a search finds; no character of it is an operator.
func testSearch(t *testing.T, r registry.Records) {
	for _, name := range []string{"a.example/file_server", "a.example/fileXserver", "a.example/100%25",
		"a.example/100x25", `a.example/b\c`, "a.example/Weather", `a.example/say"hi"*`} {
		Insert(t, r, Record(t, name, "1.0.0", 0))
		Insert(t, r, Record(t, name, "2.0.0", 1))
	}
	for search, want := range map[string][]string{
		"file_s": {"a.example/file_server@1.0.0", "a.example/file_server@2.0.0"},
		"0%2":    {"a.example/100%25@1.0.0", "a.example/100%25@2.0.0"},
		`b\c`:    {`a.example/b\c@1.0.0`, `a.example/b\c@2.0.0`},
		"%%%":    nil,
		"___":    nil,
		"weath":  {"a.example/Weather@1.0.0", "a.example/Weather@2.0.0"},
		"WEATH":  {"a.example/Weather@1.0.0", "a.example/Weather@2.0.0"},
		"ple/100": {"a.example/100%25@1.0.0", "a.example/100%25@2.0.0", "a.example/100x25@1.0.0",
			"a.example/100x25@2.0.0"},
		"' OR 1=1;": nil,
		"1.0.0":     nil,
		`y"hi"*`:    {`a.example/say"hi"*@1.0.0`, `a.example/say"hi"*@2.0.0`},
		`say" OR "`: nil,
		"wea*":      nil,
		"ea":        {"a.example/Weather@1.0.0", "a.example/Weather@2.0.0"},
		"wea\x00":   nil,
	} {
		Equal(t, "search "+search, All(t, r, registry.Query{Search: search, Limit: 3}), want)
	}
	Equal(t, "search of latest", All(t, r, registry.Query{Search: "file", Version: registry.Latest, Limit: 1}),
		[]string{"a.example/fileXserver@2.0.0", "a.example/file_server@2.0.0"})
}

// testUpdatedSince checks the list of what changed since a time.
func testUpdatedSince(t *testing.T, r registry.Records) {
	for i := range 5 {
		Insert(t, r, Record(t, fmt.Sprintf("io.github.o/%d", 5-i), "1.0.0", i))
	}
	Equal(t, "at the third's time", All(t, r, registry.Query{UpdatedSince: Epoch.Add(2 * time.Minute), Limit: 1}),
		[]string{"io.github.o/1@1.0.0", "io.github.o/2@1.0.0", "io.github.o/3@1.0.0"})
	Equal(t, "just after it", All(t, r, registry.Query{UpdatedSince: Epoch.Add(2*time.Minute + time.Microsecond)}),
		[]string{"io.github.o/1@1.0.0", "io.github.o/2@1.0.0"})
	Equal(t, "in another zone",
		All(t, r, registry.Query{UpdatedSince: Epoch.Add(4 * time.Minute).In(time.FixedZone("x", -7200))}),
		[]string{"io.github.o/1@1.0.0"})
}

// testVersions checks the versions of one name, newest first.
func testVersions(t *testing.T, r registry.Records) {
	ctx := context.Background()
	for i, v := range []string{"1.0.0", "3.0.0", "2.0.0"} {
		Insert(t, r, Record(t, "io.github.o/a", v, i))
		Insert(t, r, Record(t, "io.github.o/b", v, i))
	}
	Insert(t, r, Record(t, "io.github.o/a", "2.0.1", 2)) // at the time of 2.0.0
	got, next, err := r.Versions(ctx, "io.github.o/a", "")
	if err != nil || next != "" {
		t.Fatalf("cursor %q, error %v", next, err)
	}
	Equal(t, "versions", subjects(got),
		[]string{"io.github.o/a@2.0.1", "io.github.o/a@2.0.0", "io.github.o/a@3.0.0", "io.github.o/a@1.0.0"})
	got, _, err = r.Versions(ctx, "io.github.o/a",
		registry.Cursor{Name: "io.github.o/a", Version: "2.0.0"}.String())
	Equal(t, "after 2.0.0", subjects(got), []string{"io.github.o/a@3.0.0", "io.github.o/a@1.0.0"})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := r.Versions(ctx, "io.github.o/none", ""); !errors.Is(err, registry.ErrNotFound) {
		t.Errorf("no versions: %v", err)
	}
	for _, bad := range []registry.Cursor{{Name: "io.github.o/b", Version: "2.0.0"},
		{Name: "io.github.o/a", Version: "9"}, {Name: "io.github.o/a", Version: registry.Latest}} {
		if _, _, err := r.Versions(ctx, "io.github.o/a", bad.String()); !errors.Is(err, registry.ErrCursor) {
			t.Errorf("cursor %q: %v", bad, err)
		}
	}
}

// testLargePages checks that a page ends before it has too many bytes.
func testLargePages(t *testing.T, r registry.Records) {
	if testing.Short() {
		t.Skip("is of one goroutine")
	}
	ctx := context.Background()
	var want []string
	for i := range 10 {
		rec := Record(t, "io.github.o/a", fmt.Sprintf("1.0.%d", i), i)
		doc := fmt.Sprintf(`{"version":"1.0.%d","title":%q}`, i, strings.Repeat("x", 1<<20-100))
		rec.Document, rec.Digest = json.RawMessage(doc), CanonicalDigest(t, doc)
		Insert(t, r, rec)
		want = append(want, rec.Subject())
	}
	page, next, err := r.List(ctx, registry.Query{Limit: 100})
	if err != nil || next == "" || len(page) == 0 || len(page) > 4 {
		t.Errorf("a page of %d records of 1 MiB, cursor %q, error %v", len(page), next, err)
	}
	Equal(t, "list", All(t, r, registry.Query{Limit: 100}), want)
	var got []string
	for next := ""; ; {
		page, more, err := r.Versions(ctx, "io.github.o/a", next)
		if err != nil || len(page) > 4 {
			t.Fatalf("%d records, %v", len(page), err)
		}
		got = append(got, subjects(page)...)
		if next = more; next == "" {
			break
		}
	}
	slices.Reverse(got)
	Equal(t, "versions", got, want)
}

// testCursors checks that a cursor that no list gave is refused, or only says where to go on.
func testCursors(t *testing.T, r registry.Records) {
	ctx := context.Background()
	Insert(t, r, Record(t, "io.github.o/a", "1.0.0", 0))
	for _, bad := range []string{"x", "!", "aW8uZ2l0aHViLm8vYQ", registry.Cursor{Name: "a", Version: ""}.String(),
		registry.Cursor{Name: "", Version: "b"}.String(),
		// bits after the last byte
		registry.Cursor{Name: "a", Version: "b\x00c"}.String(),
		registry.Cursor{Name: "a", Version: "\xff"}.String(),
		registry.Cursor{Name: "a", Version: "b"}.String() + "=", "YQBiYx",
		strings.Repeat("YQ", 2000)} {
		if _, _, err := r.List(ctx, registry.Query{Cursor: bad}); !errors.Is(err, registry.ErrCursor) {
			t.Errorf("list after %.40q: %v, want ErrCursor", bad, err)
		}
		if _, _, err := r.Versions(ctx, "io.github.o/a", bad); !errors.Is(err, registry.ErrCursor) {
			t.Errorf("versions after %.40q: %v, want ErrCursor", bad, err)
		}
	}
	Equal(t, "after a made-up cursor",
		All(t, r, registry.Query{
			Cursor: registry.Cursor{Name: "io.github.n", Version: "'; DROP TABLE servers"}.String()}),
		[]string{"io.github.o/a@1.0.0"})
}

// testPublishersRace checks that of many insertions of one version one succeeds, and that it is what the others are
// told.
func testPublishersRace(t *testing.T, r registry.Records) {
	ctx := context.Background()
	const n = 24
	var (
		wg     sync.WaitGroup
		mu     sync.Mutex
		won    []registry.Record
		losers []registry.Record
	)
	for i := range n {
		rec := Record(t, "io.github.o/a", "1.0.0", 0)
		doc := fmt.Sprintf(`{"version":"1.0.0","title":"%d"}`, i)
		rec.Document, rec.Digest = json.RawMessage(doc), CanonicalDigest(t, doc)
		wg.Go(func() {
			got, err := r.Insert(ctx, Admission(rec), rec)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				won = append(won, got)
			case errors.Is(err, registry.ErrExists):
				losers = append(losers, got)
			default:
				t.Errorf("insert: %v", err)
			}
		})
	}
	wg.Wait()
	if len(won) != 1 || len(losers) != n-1 {
		t.Fatalf("%d inserts won, %d lost", len(won), len(losers))
	}
	for _, l := range losers {
		Equal(t, "what a loser was told", l, won[0])
	}
}

// testVersionsRace checks that versions inserted at the same time leave one latest.
func testVersionsRace(t *testing.T, r registry.Records) {
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() { Insert(t, r, Record(t, "io.github.o/a", fmt.Sprintf("1.%d.0", i), i)) })
	}
	wg.Wait()
	Equal(t, "latest", All(t, r, registry.Query{Version: registry.Latest}), []string{"io.github.o/a@1.31.0"})
	if got := All(t, r, registry.Query{}); len(got) != 32 {
		t.Errorf("%d records, want 32", len(got))
	}
}

// testRecordsCancelled checks that nothing is done for a request that has ended.
func testRecordsCancelled(t *testing.T, r registry.Records) {
	ctx := context.Background()
	gone, cancel := context.WithCancel(ctx)
	cancel()
	rec := Record(t, "io.github.o/a", "1.0.0", 0)
	if _, err := r.Insert(gone, Admission(rec), rec); !errors.Is(err, context.Canceled) {
		t.Errorf("insert: %v", err)
	}
	if _, _, err := r.List(gone, registry.Query{}); !errors.Is(err, context.Canceled) {
		t.Errorf("list: %v", err)
	}
	Insert(t, r, rec)
}
