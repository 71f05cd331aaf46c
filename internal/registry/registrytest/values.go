package registrytest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/serverjson"
)

// Epoch is when the records of these tests begin.
var Epoch = time.Date(2026, 1, 31, 12, 0, 0, 123456000, time.UTC)

// Record makes a record that is published at minutes after epoch.
func Record(t testing.TB, name, version string, minutes int) registry.Record {
	t.Helper()
	doc := fmt.Sprintf(`{"name":%q,"version":%q,"description":"a <b> & c"}`, name, version)
	at := Epoch.Add(time.Duration(minutes) * time.Minute)
	return registry.Record{
		Name: name, Version: version, Document: json.RawMessage(doc), Digest: CanonicalDigest(t, doc),
		Evidence: json.RawMessage(`[{"subject":"npm:a@1"}]`), VerifiedAt: at, Build: "test",
		PublishedAt: at, UpdatedAt: at, StatusChangedAt: at,
	}
}

// CanonicalDigest is the digest of the canonical form of doc.
func CanonicalDigest(t testing.TB, doc string) digest.Digest {
	t.Helper()
	canonical, err := serverjson.Canonical([]byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	return digest.FromBytes(canonical)
}

// Admission allows to publish rec.
func Admission(rec registry.Record) policy.Admitted {
	return policy.Judge(policy.Accept, policy.Settings{}, evidence.Report{evidence.Compare(
		evidence.Claim{Subject: rec.Subject(), Scheme: evidence.Document, Authority: evidence.Publisher},
		evidence.Observed{Digests: []digest.Digest{rec.Digest}})}).Admitted()
}

// Insert inserts a record.
func Insert(t testing.TB, r registry.Records, rec registry.Record) registry.Record {
	t.Helper()
	got, err := r.Insert(context.Background(), Admission(rec), rec)
	if err != nil {
		t.Fatalf("insert %s: %v", rec.Subject(), err)
	}
	return got
}

// subjects lists records as "name@version".
func subjects(records []registry.Record) []string {
	var out []string
	for _, r := range records {
		out = append(out, r.Subject())
	}
	return out
}

// All follows the cursors of q.
func All(t testing.TB, r registry.Records, q registry.Query) []string {
	t.Helper()
	var out []string
	for pages := 0; ; pages++ {
		page, next, err := r.List(context.Background(), q)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) > q.PageLimit() {
			t.Fatalf("a page of %d records for limit %d", len(page), q.PageLimit())
		}
		sameAnswers(t, r, q, page, next)
		out = append(out, subjects(page)...)
		if next == "" {
			return out
		}
		if len(page) == 0 || pages > 10_000 {
			t.Fatal("pages do not end")
		}
		q.Cursor = next
	}
}

// sameAnswers demands that AppendPage gives the same as List gave, save that a page of
// large records may end elsewhere, and AppendRecord the same as Get.
func sameAnswers(t testing.TB, r registry.Records, q registry.Query, want []registry.Record, next string) {
	t.Helper()
	answer, count, cursor, err := r.AppendPage(context.Background(), []byte("["), q)
	if large := next != "" && len(want) < q.PageLimit(); large {
		want, next = want[:min(count, len(want))], cursor
		count = len(want)
	}
	if err != nil || count != len(want) || cursor != next {
		t.Fatalf("answer of %d records, cursor %q, error %v; the list has %d and %q", count, cursor, err, len(want),
			next)
	}
	var got []registry.Envelope
	if err := json.Unmarshal(append(answer, ']'), &got); err != nil {
		t.Fatalf("%v in %s", err, answer)
	}
	got = append([]registry.Envelope{}, got...)[:count]
	Equal(t, "answer", got, registry.NewPage(want, "").Servers)
	if len(want) == 0 {
		return
	}
	last := want[len(want)-1]
	one, err := r.AppendRecord(context.Background(), []byte("x"), last.Name, last.Version, true)
	if err != nil || !strings.HasPrefix(string(one), `x{"server":{`) ||
		!strings.Contains(string(answer), string(one[1:])) {
		t.Errorf("one record is answered as %.300s, error %v; the page ends in %.300s", one, err,
			answer[max(0, len(answer)-len(one)):])
	}
}

// Equal compares two values as JSON.
func Equal(t testing.TB, what string, got, want any) {
	t.Helper()
	g, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	w, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if string(g) != string(w) {
		t.Errorf("%s:\n got %s\nwant %s", what, g, w)
	}
}

func filter(subjects []string, suffix string) []string {
	return slices.DeleteFunc(slices.Clone(subjects), func(s string) bool { return !strings.HasSuffix(s, suffix) })
}

// Fill inserts versions of one server.
func Fill(t testing.TB, db registry.Records, from, to int) (records []registry.Record) {
	t.Helper()
	for i := from; i < to; i++ {
		records = append(records, Insert(t, db, Record(t, "io.github.acme/a", fmt.Sprintf("1.0.%d", i), i)))
	}
	return records
}
