package operate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/hosttest"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/serverjson"
)

var right, wrong = digest.FromBytes([]byte("right")), digest.FromBytes([]byte("wrong"))

// state is what a package is found to be.
type state string

const (
	fine      state = "fine"
	replaced  state = "replaced"
	removed   state = "removed"
	away      state = "away"      // cannot be reached
	forbidden state = "forbidden" // this run's flags do not let it be fetched
	stolen    state = "stolen"    // belongs to another server now
	halfAway  state = "half away" // replaced, and its owner cannot be reached
	fineOwner state = "fine, owner away"
)

// found is the report of a check that finds s.
func found(doc *serverjson.Document, s state) evidence.Report {
	claims, _ := doc.Claims("server.json")
	owner := evidence.Claim{Subject: claims[0].Subject, Scheme: evidence.Ownership, Authority: evidence.Registry,
		Text: doc.Name}
	file := evidence.Compare(claims[0], evidence.Observed{Digests: []digest.Digest{right}, Size: 5})
	owned := evidence.Fact(owner, doc.Name)
	switch s {
	case replaced, halfAway:
		file = evidence.Compare(claims[0], evidence.Observed{Digests: []digest.Digest{wrong}, Size: 5})
	case removed:
		file = evidence.CannotVerify(claims[0], evidence.NotFound, "404")
	case away:
		file = evidence.CannotVerify(claims[0], evidence.Unreachable, "timeout")
	case forbidden:
		file = evidence.CannotVerify(claims[0], evidence.Unsupported, "that is not a public address")
	case stolen:
		owned = evidence.Fact(owner, "com.example/thief")
	}
	if s == halfAway || s == fineOwner {
		owned = evidence.CannotVerify(owner, evidence.Unreachable, "timeout")
	}
	return evidence.Report{file, owned}
}

func TestReverify(t *testing.T) {
	db := hosttest.OpenRecords(t, t.TempDir())
	rec := insertDocument(t, db, notes("com.example/notes", "1.0.0", right.String()), 0, nil)
	insertDocument(t, db, notes("com.example/unclaimed", "1.0.0", ""), 0, nil)
	insertDocument(t, db, notes("com.example/deleted", "1.0.0", right.String()), 0,
		func(r *registry.Record) { r.Status = registry.Deleted })
	insertDocument(t, db, `{"name":"com.example/strange","version":"1.0.0","packages":7}`, 0, nil)
	now := epoch
	is := fine
	var checked []string
	r := reverifier{records: db, build: "v9", now: func() time.Time { now = now.Add(time.Hour); return now },
		check: func(_ context.Context, doc *serverjson.Document) (evidence.Report, error) {
			checked = append(checked, doc.Name)
			return found(doc, is), nil
		}}
	// Each step finds the package in a state; want is what the new finding says, "" if
	// there is none.
	for n, step := range []struct {
		is        state
		want      string
		failing   bool
		class     evidence.Class
		unreached int
	}{
		{fine, "", false, evidence.OK, 0},
		{away, "", false, evidence.Operation, 1},
		{forbidden, "", false, evidence.Operation, 1},
		{replaced, "mismatch", true, evidence.Integrity, 0},
		{replaced, "", true, evidence.Integrity, 0}, // known
		{halfAway, "", true, evidence.Integrity, 1},
		{away, "", false, evidence.Operation, 1}, // says nothing about what was known
		{replaced, "", true, evidence.Integrity, 0},
		{removed, "not_found", true, evidence.Integrity, 0},
		{fineOwner, "", false, evidence.Operation, 1}, // not all of it is known to be well
		{fine, "[]", false, evidence.OK, 0},
		{fine, "", false, evidence.OK, 0},
		{stolen, "com.example/thief", true, evidence.Refused, 0},
	} {
		is, checked = step.is, nil
		before, err := db.Findings(t.Context(), rec.Name, rec.Version)
		if err != nil {
			t.Fatal(err)
		}
		out, err := r.reverifyAll(t.Context(), time.Time{})
		if evidence.ClassOf(err) != step.class {
			t.Errorf("step %d: %v", n, err)
		}
		if !slices.Equal(checked, []string{"com.example/notes"}) || out.Records != 3 || out.Claimed != 1 ||
			out.Unreached != step.unreached ||
			slices.Equal(out.Failing, []string{"com.example/notes@1.0.0"}) != step.failing {
			t.Errorf("step %d, %s: %+v, checked %q", n, step.is, out, checked)
		}
		after, err := db.Findings(t.Context(), rec.Name, rec.Version)
		if err != nil {
			t.Fatal(err)
		}
		if step.want == "" {
			if len(after) != len(before) || len(out.Found) != 0 {
				t.Errorf("step %d, %s: a finding more: %+v", n, step.is, after[0])
			}
			continue
		}
		if len(after) != len(before)+1 || len(out.Found) != 1 || out.Found[0].Subject != "com.example/notes@1.0.0" {
			t.Fatalf("step %d, %s: %+v", n, step.is, out)
		}
		if f := after[0]; !strings.Contains(string(f.Evidence), step.want) || f.Build != "v9" || !f.At.Equal(now) {
			t.Errorf("step %d, %s: finding %+v", n, step.is, f)
		}
	}
	after, err := db.Get(t.Context(), rec.Name, rec.Version)
	if err != nil {
		t.Fatal(err)
	}
	if len(after.Findings) != 4 {
		t.Errorf("%d findings", len(after.Findings))
	}
	after.Findings, rec.IsLatest = nil, after.IsLatest
	a, _ := json.Marshal(after)
	b, _ := json.Marshal(rec)
	if string(a) != string(b) {
		t.Errorf("the record changed:\n%s\n%s", a, b)
	}
}

// What a registry tolerated when it only observed is known, and no finding.
func TestReverifyTolerated(t *testing.T) {
	db := hosttest.OpenRecords(t, t.TempDir())
	doc := notes("com.example/notes", "1.0.0", right.String())
	parsed, err := serverjson.Parse([]byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	tolerated, err := json.Marshal(found(parsed, replaced))
	if err != nil {
		t.Fatal(err)
	}
	insertDocument(t, db, doc, 0, func(r *registry.Record) { r.Evidence = tolerated })
	is := replaced
	r := reverifier{records: db, now: time.Now,
		check: func(_ context.Context, doc *serverjson.Document) (evidence.Report, error) {
			return found(doc, is),
				nil
		}}
	if out, err := r.reverifyAll(t.Context(), time.Time{}); evidence.ClassOf(err) != evidence.Integrity ||
		len(out.Found) != 0 || len(out.Failing) != 1 {
		t.Errorf("%+v, %v", out, err)
	}
	is = fine
	if out, err := r.reverifyAll(t.Context(), time.Time{}); err != nil || len(out.Found) != 1 ||
		len(out.Found[0].Evidence) != 0 {
		t.Errorf("%+v, %v", out, err)
	}
}

// A dry run tells what would be added, and adds nothing. What the flags forbid to fetch is named. A finding that an
// earlier version added for that is resolved.
func TestReverifyDryRun(t *testing.T) {
	db := hosttest.OpenRecords(t, t.TempDir())
	doc := notes("com.example/notes", "1.0.0", right.String())
	insertDocument(t, db, doc, 0, nil)
	is := replaced
	var log bytes.Buffer
	r := reverifier{records: db, now: time.Now, dry: true, logger: slog.New(slog.NewTextHandler(&log, nil)),
		check: func(_ context.Context, doc *serverjson.Document) (evidence.Report, error) { return found(doc, is), nil }}
	for range 2 {
		out, err := r.reverifyAll(t.Context(), time.Time{})
		if evidence.ClassOf(err) != evidence.Integrity || len(out.Found) != 1 || log.Len() > 0 {
			t.Errorf("%+v, %v\n%s", out, err, &log)
		}
	}
	is = forbidden
	if _, err := r.reverifyAll(t.Context(), time.Time{}); evidence.ClassOf(err) != evidence.Operation ||
		!strings.Contains(log.String(), "com.example/notes@1.0.0") ||
		!strings.Contains(log.String(), "not a public address") || !strings.Contains(log.String(), "--allow-host") {
		t.Errorf("%v\n%s", err, &log)
	}
	parsed, err := serverjson.Parse([]byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(found(parsed, forbidden)[:1])
	if err != nil {
		t.Fatal(err)
	}
	if err := db.AddFinding(t.Context(), registry.Finding{Name: "com.example/notes", Version: "1.0.0", At: epoch,
		Evidence: text}); err != nil {
		t.Fatal(err)
	}
	is, r.dry = fine, false
	if out, err := r.reverifyAll(t.Context(), time.Time{}); err != nil || len(out.Found) != 1 ||
		len(out.Found[0].Evidence) != 0 {
		t.Errorf("%+v, %v", out, err)
	}
	if all, err := db.Findings(t.Context(), "com.example/notes", "1.0.0"); err != nil || len(all) != 2 {
		t.Errorf("%+v, %v", all, err)
	}
}

func TestReverifySince(t *testing.T) {
	db := hosttest.OpenRecords(t, t.TempDir())
	const n = 2*registry.MaxLimit + 10
	for i := range n {
		insertDocument(t, db, notes(fmt.Sprintf("com.example/a%03d", i), "1.0.0", right.String()), i, nil)
	}
	// Published before, although updated after.
	insertDocument(t, db, notes("com.example/old", "1.0.0", right.String()), 0,
		func(r *registry.Record) { r.UpdatedAt = epoch.Add(1000 * time.Hour) })
	var mu sync.Mutex
	checked := 0
	r := reverifier{records: db, now: time.Now,
		check: func(_ context.Context, doc *serverjson.Document) (evidence.Report, error) {
			mu.Lock()
			defer mu.Unlock()
			checked++
			return found(doc, fine), nil
		}}
	for since, want := range map[time.Time]int{{}: n + 1, epoch.Add(5 * time.Minute): n - 5,
		epoch.Add(n * time.Minute): 0} {
		checked = 0
		if out, err := r.reverifyAll(t.Context(), since); err != nil || checked != want || out.Claimed != want {
			t.Errorf("since %s: %d checked, want %d; %v", since, checked, want, err)
		}
	}
}

// A fault of this machine stops it, and what was found until then is kept and told.
func TestReverifyFault(t *testing.T) {
	db := hosttest.OpenRecords(t, t.TempDir())
	insertDocument(t, db, notes("com.example/a", "1.0.0", right.String()), 0, nil)
	insertDocument(t, db, notes("com.example/b", "1.0.0", right.String()), 0, nil)
	done := make(chan struct{})
	r := reverifier{records: db, now: time.Now,
		check: func(_ context.Context, doc *serverjson.Document) (evidence.Report, error) {
			if doc.Name == "com.example/b" {
				<-done
				return nil, errors.New("disk full")
			}
			defer close(done)
			return found(doc, replaced), nil
		}}
	out, err := r.reverifyAll(context.WithoutCancel(t.Context()), time.Time{})
	if err == nil || !strings.Contains(err.Error(), "com.example/b@1.0.0: disk full") {
		t.Errorf("error %v", err)
	}
	if len(out.Found) != 1 || out.Found[0].Subject != "com.example/a@1.0.0" {
		t.Errorf("%+v", out)
	}
}
