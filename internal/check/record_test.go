package check_test

import (
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/check"
	"github.com/hallmark-mcp/hallmark/internal/hosttest"
	"github.com/hallmark-mcp/hallmark/internal/monitor"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/sqlite"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
)

// What a lock holds is compared with what the registry and its log show now.
func TestCheckRecord(t *testing.T) {
	r := hosttest.NewLoggedRegistry(t, "")
	r.Publish("1.0.0", "1.1.0")
	h, rules := hosttest.New(t), project.Registry{URL: r.URL, LogKey: r.Key}
	seen, err := hosttest.RecordSeen(t, h, rules, "1.0.0", trail.Options{})
	if err != nil {
		t.Fatal(err)
	}
	check := func(locked project.RecordLock) (policy.Verdict, error) {
		w := &workspace.Workspace{Host: h, Config: &project.Config{Registry: rules}}
		l, err := trail.Read(t.Context(), h, w.Registry(), rules, trail.Options{})
		if err != nil {
			return policy.Verdict{}, err
		}
		report, err := check.CheckRecord(t.Context(), l, w.Registry(), w, locked)
		offline, err2 := w.Logs(trail.Options{}).LockedProof(&locked)
		return policy.Judge(policy.Check, policy.Settings{}, append(report, offline...)), errors.Join(err, err2)
	}
	if v, err := check(seen.Lock); err != nil || !v.Allowed() || len(v.Warnings()) != 0 {
		t.Fatalf("%v %v", err, v.Err())
	}
	// the proof of another record, of another document, and one that was changed
	other, err := hosttest.RecordSeen(t, h, rules, "1.1.0", trail.Options{})
	if err != nil {
		t.Fatal(err)
	}
	swapped, forged, broken := seen.Lock, seen.Lock, seen.Lock
	swapped.Proof = other.Lock.Proof
	forged.Document = digest.FromBytes([]byte("other"))
	broken.Proof = strings.Replace(broken.Proof, "\nindex 0\n", "\nindex 1\n", 1)
	for name, locked := range map[string]project.RecordLock{"swapped": swapped, "forged": forged, "broken": broken} {
		if v, err := check(locked); err != nil || v.Class() != evidence.Integrity {
			t.Errorf("%s: %v %v", name, err, v.Class())
		}
		w := &workspace.Workspace{Host: h, Config: &project.Config{Registry: rules}}
		if offline, err := w.Logs(trail.Options{}).LockedProof(&locked); err != nil ||
			policy.Judge(policy.Check, policy.Settings{}, offline).Class() != evidence.Integrity ||
			policy.Judge(policy.Launch, policy.Settings{}, offline).Class() != evidence.Integrity {
			t.Errorf("%s, offline: %v %+v", name, err, offline)
		}
	}
	// without any key nothing is decided
	unknown := &workspace.Workspace{Host: hosttest.New(t), Config: &project.Config{}}
	if offline, err := unknown.Logs(trail.Options{}).LockedProof(&seen.Lock); err != nil ||
		policy.Judge(policy.Check, policy.Settings{}, offline).Class() != evidence.Refused {
		t.Errorf("%v %+v", err, offline)
	}
	// its publisher takes it back
	r.Close()
	records, err := sqlite.Open(t.Context(), r.DB())
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := records.SetStatus(t.Context(), "io.github.acme/notes", "1.0.0",
		registry.Change{Status: registry.Deleted, Message: "leaks keys", At: time.Now()}); err != nil {
		t.Fatal(err)
	}
	records.Close()
	r.Start()
	hosttest.EventuallySized(t, r, 3)
	v, err := check(seen.Lock)
	if err != nil || v.Class() != evidence.Refused || !strings.Contains(v.Err().Error(), "status mismatch") ||
		!strings.Contains(v.Err().Error(), "entry 2") || !strings.Contains(v.Err().Error(), "leaks keys") {
		t.Errorf("%v %v", err, v.Err())
	}
	// and the record goes
	r.Change(func(db *sql.DB) { hosttest.Exec(t, db, "DELETE FROM servers WHERE version = '1.0.0'") })
	if v, err = check(seen.Lock); err != nil || v.Class() != evidence.Integrity ||
		!strings.Contains(v.Err().Error(), "no such record") {
		t.Errorf("%v %v", err, v.Err())
	}
}

// A lock that has no proof, because it was taken out or because the registry had no log
// then, is held to the log that there is now.
func TestLockWithoutProof(t *testing.T) {
	r := hosttest.NewLoggedRegistry(t, "")
	r.Publish("1.0.0")
	h, rules := hosttest.New(t), project.Registry{URL: r.URL, LogKey: r.Key}
	seen, err := hosttest.RecordSeen(t, h, rules, "1.0.0", trail.Options{})
	if err != nil {
		t.Fatal(err)
	}
	other := hosttest.NotesDocument("1.0.0", "Other notes")
	r.Change(func(db *sql.DB) {
		hosttest.Exec(t, db, "UPDATE servers SET document = ?, document_digest = ?", string(other), hosttest.DigestOf(t,
			other))
	})
	w := &workspace.Workspace{Host: h, Config: &project.Config{Registry: rules}}
	l, err := trail.Read(t.Context(), h, w.Registry(), rules, trail.Options{})
	if err != nil {
		t.Fatal(err)
	}
	locked := seen.Lock
	locked.Proof = ""
	if locked.Document, err = digest.Parse(hosttest.DigestOf(t, other)); err != nil {
		t.Fatal(err)
	}
	report, err := check.CheckRecord(t.Context(), l, w.Registry(), w, locked)
	if v := policy.Judge(policy.Check, policy.Settings{}, report); err != nil || v.Class() != evidence.Integrity ||
		!strings.Contains(v.Err().Error(), "entry 0 of the log") {
		t.Errorf("%v %+v", err, report)
	}
}

// The log has the very same publish twice, and proves the second one while it names the
// first: who has the first in a lock finds out.
func TestSameDocumentTwice(t *testing.T) {
	r := hosttest.NewLoggedRegistry(t, "")
	r.Publish("1.0.0")
	h, rules := hosttest.New(t), project.Registry{URL: r.URL, LogKey: r.Key}
	locked, err := hosttest.RecordSeen(t, h, rules, "1.0.0", trail.Options{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := ledger.Leaf{
		Kind: ledger.Server, Name: "io.github.acme/notes", Version: "1.0.0", Document: locked.Lock.Document,
		Publisher: "somebody", At: time.Now().UTC().Truncate(time.Second),
	}.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	hash := tlog.RecordHash(text)
	p, err := ledger.ParseProof([]byte(locked.Lock.Proof))
	if err != nil {
		t.Fatal(err)
	}
	edge := ledger.Edge{Size: 1, Hashes: []tlog.Hash{tlog.RecordHash(p.Leaf)}}
	edge.Add(hash)
	r.Change(func(db *sql.DB) {
		hosttest.Exec(t, db, "UPDATE log_entries SET name = 'hidden' WHERE idx = 0")
		hosttest.Exec(t, db, "INSERT INTO log_entries VALUES (1, 'server', 'io.github.acme/notes', '1.0.0', ?, ?)",
			string(text),
			hash[:])
		hosttest.Exec(t, db, "UPDATE log_head SET edge = ?", edge.Marshal())
	})
	hosttest.EventuallySized(t, r, 2)
	r.OnWire(func(path string, body []byte) []byte {
		if strings.HasSuffix(path, "/log") {
			return []byte(`{"index":0,"later":[]}`)
		}
		return body
	})
	w := &workspace.Workspace{Host: h, Config: &project.Config{Registry: rules}}
	l, err := trail.Read(t.Context(), h, w.Registry(), rules, trail.Options{})
	if err != nil {
		t.Fatal(err)
	}
	report, err := check.CheckRecord(t.Context(), l, w.Registry(), w, locked.Lock)
	if v := policy.Judge(policy.Check, policy.Settings{}, report); err != nil || v.Class() != evidence.Integrity ||
		!strings.Contains(v.Err().Error(), "entry 1") {
		t.Errorf("%v %+v", err, report)
	}
	m, err := hosttest.Monitored(t, r, "")
	hosttest.Finds(t, m, err, monitor.AnomalyDuplicate, 1, "entry 0 alone")
}
