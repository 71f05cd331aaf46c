package trail_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/check"
	"github.com/hallmark-mcp/hallmark/internal/hosttest"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/sqlite"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
)

// A registry that proves a record and then does not know of later entries about it hides
// that it was deleted, from who pins it and from who has it locked, with a proof or not.
func TestHiddenHistory(t *testing.T) {
	r := hosttest.NewLoggedRegistry(t, "")
	r.Publish("1.0.0")
	h, rules := hosttest.New(t), project.Registry{URL: r.URL, LogKey: r.Key}
	seen, err := hosttest.RecordSeen(t, h, rules, "1.0.0", trail.Options{})
	if err != nil {
		t.Fatal(err)
	}
	check := func(locked project.RecordLock) policy.Verdict {
		t.Helper()
		w := &workspace.Workspace{Host: h, Config: &project.Config{Registry: rules}}
		l, err := trail.Read(t.Context(), h, w.Registry(), rules, trail.Options{})
		if err != nil {
			t.Fatal(err)
		}
		report, err := check.CheckRecord(t.Context(), l, w.Registry(), w, locked)
		if err != nil {
			t.Fatal(err)
		}
		return policy.Judge(policy.Check, policy.Settings{}, report)
	}
	unproven := seen.Lock
	unproven.Proof = ""
	if v := check(seen.Lock); !v.Allowed() {
		t.Errorf("nothing happened yet: %v", v.Err())
	}
	if v := check(unproven); len(v.Refused()) != 1 || v.Refused()[0].Evidence.Outcome != evidence.Missing {
		t.Errorf("nothing happened yet, but the proof is owed by the log: %v", v.Err())
	}

	r.Close()
	records, err := sqlite.Open(t.Context(), r.DB())
	if err != nil {
		t.Fatal(err)
	}
	change := registry.Change{Status: registry.Deleted, Message: "steals keys", At: time.Now(), By: "operator"}
	if _, _, err := records.SetStatus(t.Context(), seen.Lock.Name, "1.0.0", change); err != nil {
		t.Fatal(err)
	}
	records.Close()
	r.Start()
	hosttest.EventuallySized(t, r, 2)
	for _, locked := range []project.RecordLock{seen.Lock, unproven} {
		hosttest.RefusedWith(t, check(locked).Err(), evidence.Refused, "status mismatch", "deleted")
	}

	honest := *r.Handler.Load()
	var hiding http.Handler = http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if strings.HasSuffix(req.URL.Path, "/log") {
			http.NotFound(w, req)
			return
		}
		q := req.URL.Query() // the record is served as if it were active
		if strings.HasSuffix(req.URL.Path, "/versions/1.0.0") {
			q.Set("include_deleted", "true")
			req.URL.RawQuery = q.Encode()
		}
		honest.ServeHTTP(w, req)
	})
	r.Handler.Store(&hiding)
	for _, locked := range []project.RecordLock{seen.Lock, unproven} {
		hosttest.RefusedWith(t, check(locked).Err(), evidence.Integrity, "status cannot be verified",
			"does not say which later entries are about it")
	}
	_, err = hosttest.RecordSeen(t, hosttest.New(t), rules, "1.0.0", trail.Options{})
	hosttest.RefusedWith(t, err, evidence.Integrity, "status cannot be verified", "finding cannot be verified")
}
