package trail_test

import (
	"bytes"
	"database/sql"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/check"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/hosttest"
	"github.com/hallmark-mcp/hallmark/internal/machine"
	"github.com/hallmark-mcp/hallmark/internal/monitor"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/client"
	"github.com/hallmark-mcp/hallmark/internal/registry/sqlite"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/serverjson"
)

func keptLogs(t *testing.T, h *host.Host) string {
	t.Helper()
	data, err := host.ReadFile(filepath.Join(h.Places.State, "logs.json"), machine.MaxLogs)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// The first use needs somebody's word for the key, which then stays.
func TestFirstUse(t *testing.T) {
	r := hosttest.NewLoggedRegistry(t, "")
	r.Publish("1.0.0")
	rules := project.Registry{URL: r.URL}
	h := hosttest.New(t)
	_, err := hosttest.RecordSeen(t, h, rules, "1.0.0", trail.Options{})
	hosttest.RefusedWith(t, err, evidence.Refused, "log-key absent", r.Key, "--log-key")
	asked := ""
	no := trail.Options{
		Ask: func(name, key string) (host.Consent, error) { asked = name + " " + key; return host.NoConsent, nil }}
	if _, err := hosttest.RecordSeen(t, h, rules, "1.0.0", no); evidence.ClassOf(err) != evidence.Refused ||
		asked != rules.Name()+" "+r.Key {
		t.Fatalf("%v, asked %q", err, asked)
	}
	if keptLogs(t, h) != "" {
		t.Fatal("something was kept of a key that nobody accepted")
	}
	yes := trail.Options{Ask: func(string, string) (host.Consent, error) { return host.InformedConsent, nil }}
	got, err := hosttest.RecordSeen(t, h, rules, "1.0.0", yes)
	if err != nil {
		t.Fatal(err)
	}
	if p, err := ledger.ParseProof([]byte(got.Lock.Proof)); err != nil || p.Index != 0 {
		t.Fatalf("proof: %v", err)
	}
	kept := keptLogs(t, h)
	if !strings.Contains(kept, r.Key) {
		t.Fatal(kept)
	}
	if _, err := hosttest.RecordSeen(t, h, rules, "1.0.0", trail.Options{}); err != nil { // nobody has to be asked again
		t.Fatal(err)
	}
	// another key, from hallmark.toml or the command line, is not the one that was accepted
	_, other, _ := ledger.GenerateKey(bytes.NewReader(make([]byte, 64)), "log.example.com")
	refused := rules
	refused.LogKey = other
	_, err = hosttest.RecordSeen(t, h, refused, "1.0.0", trail.Options{})
	hosttest.RefusedWith(t, err, evidence.Integrity, "SECURITY ERROR", r.Key, other)
	_, err = hosttest.RecordSeen(t, h, rules, "1.0.0", trail.Options{Key: other})
	hosttest.RefusedWith(t, err, evidence.Integrity, "SECURITY ERROR")
	// and on a machine that knows none, nothing signed under it is believed
	_, err = hosttest.RecordSeen(t, hosttest.New(t), refused, "1.0.0", trail.Options{})
	hosttest.RefusedWith(t, err, evidence.Signature, other)
	if keptLogs(t, h) != kept {
		t.Error("a refusal changed what is kept")
	}
	// forgetting asks again
	if key, err := trail.Forget(t.Context(), h, r.URL); err != nil || key != r.Key {
		t.Fatal(key, err)
	}
	_, err = hosttest.RecordSeen(t, h, rules, "1.0.0", trail.Options{})
	hosttest.RefusedWith(t, err, evidence.Refused)
}

// A registry without a log is reported; one that had a log cannot lose it.
func TestNoDowngrade(t *testing.T) {
	r := hosttest.NewLoggedRegistry(t, "")
	r.Publish("1.0.0")
	rules := project.Registry{URL: r.URL}
	h := hosttest.New(t)
	withLog := *r.Handler.Load()
	without := http.Handler(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/checkpoint" || strings.HasSuffix(req.URL.Path, "/proof") {
			http.NotFound(w, req)
			return
		}
		withLog.ServeHTTP(w, req)
	}))
	r.Handler.Store(&without)
	got, err := hosttest.RecordSeen(t, h, rules, "1.0.0", trail.Options{})
	if err != nil || got.Lock.Proof != "" || got.Report.Count(evidence.Absent) != 1 {
		t.Fatalf("%v %+v", err, got)
	}
	if v := policy.Judge(policy.Pin, policy.Settings{}, got.Report); len(v.Warnings()) != 1 ||
		v.Warnings()[0].Evidence.Authority != evidence.Log {
		t.Errorf("%+v", v.Warnings())
	}
	_, err = hosttest.RecordSeen(t, h, rules, "1.0.0", trail.Options{Key: r.Key})
	hosttest.RefusedWith(t, err, evidence.Integrity, "SECURITY ERROR: the registry shows no log", r.Key)
	r.Handler.Store(&withLog)
	if _, err := hosttest.RecordSeen(t, h, rules, "1.0.0", trail.Options{Key: r.Key}); err != nil {
		t.Fatal(err)
	}
	r.Handler.Store(&without)
	_, err = hosttest.RecordSeen(t, h, rules, "1.0.0", trail.Options{})
	hosttest.RefusedWith(t, err, evidence.Integrity, "SECURITY ERROR: the registry shows no log")
}

// Somebody changes a record in the database.
func TestRecordRewritten(t *testing.T) {
	r := hosttest.NewLoggedRegistry(t, "")
	r.Publish("1.0.0", "1.1.0", "1.2.0")
	h, rules := hosttest.New(t), project.Registry{URL: r.URL, LogKey: r.Key}
	if _, err := hosttest.RecordSeen(t, h, rules, "1.1.0", trail.Options{}); err != nil {
		t.Fatal(err)
	}
	other := hosttest.NotesDocument("1.1.0", "Other notes")
	r.Change(func(db *sql.DB) {
		hosttest.Exec(t, db, "UPDATE servers SET document = ?, document_digest = ? WHERE version = '1.1.0'", string(other),
			hosttest.DigestOf(t, other))
	})
	_, err := hosttest.RecordSeen(t, h, rules, "1.1.0", trail.Options{})
	hosttest.RefusedWith(t, err, evidence.Integrity, "document mismatch", hosttest.DigestOf(t,
		hosttest.NotesDocument("1.1.0", "Notes")),
		hosttest.DigestOf(t, other), "entry 1 of the log log.example.com", "SECURITY ERROR")
	m, err := hosttest.Monitored(t, r, "")
	hosttest.Finds(t, m, err, monitor.AnomalyRecord, 1, "io.github.acme/notes@1.1.0",
		hosttest.DigestOf(t, hosttest.NotesDocument("1.1.0", "Notes")), hosttest.DigestOf(t, other))
}

// The same version published twice, with a tree and a signature that are in order.
func TestSameVersionTwice(t *testing.T) {
	r := hosttest.NewLoggedRegistry(t, "")
	r.Publish("1.0.0", "1.1.0")
	h, rules := hosttest.New(t), project.Registry{URL: r.URL, LogKey: r.Key}
	locked, err := hosttest.RecordSeen(t, h, rules, "1.0.0", trail.Options{})
	if err != nil {
		t.Fatal(err)
	}
	other := hosttest.NotesDocument("1.0.0", "Other notes")
	canonical, _ := serverjson.Canonical(other)
	text, err := ledger.Leaf{
		Kind: ledger.Server, Name: "io.github.acme/notes", Version: "1.0.0", Document: digest.FromBytes(canonical),
		Publisher: "somebody", At: time.Now().UTC().Truncate(time.Second),
	}.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	hash := tlog.RecordHash(text)
	r.Change(func(db *sql.DB) {
		hosttest.Exec(t, db, "DROP INDEX log_published")
		hosttest.Exec(t, db, "INSERT INTO log_entries VALUES (2, 'server', 'io.github.acme/notes', '1.0.0', ?, ?)",
			string(text),
			hash[:])
		var raw []byte
		if err := db.QueryRow("SELECT edge FROM log_head").Scan(&raw); err != nil {
			t.Fatal(err)
		}
		edge, err := ledger.ParseEdge(raw)
		if err != nil {
			t.Fatal(err)
		}
		edge.Add(hash)
		hosttest.Exec(t, db, "UPDATE log_head SET edge = ?", edge.Marshal())
		hosttest.Exec(t, db, "UPDATE servers SET document = ?, document_digest = ? WHERE version = '1.0.0'", string(other),
			hosttest.DigestOf(t, other))
	})
	hosttest.EventuallySized(t, r, 3)
	m, err := hosttest.Monitored(t, r, "")
	hosttest.Finds(t, m, err, monitor.AnomalyDuplicate, 2, "io.github.acme/notes@1.0.0", "entry 0 alone",
		hosttest.DigestOf(t, hosttest.NotesDocument("1.0.0", "Notes")), hosttest.DigestOf(t, other))
	// A client that is shown the second entry finds that it is not the one in its lock.
	w := &workspace.Workspace{Host: h, Config: &project.Config{Registry: rules}}
	l, err := trail.Read(t.Context(), h, w.Registry(), rules, trail.Options{})
	if err != nil {
		t.Fatal(err)
	}
	report, err := check.CheckRecord(t.Context(), l, w.Registry(), w, locked.Lock)
	if err != nil {
		t.Fatal(err)
	}
	if v := policy.Judge(policy.Check, policy.Settings{}, report); v.Class() != evidence.Integrity {
		t.Errorf("%+v", report)
	}
}

// A tile or a checkpoint is changed between the registry and the client.
func TestWire(t *testing.T) {
	r := hosttest.NewLoggedRegistry(t, "")
	r.Publish("1.0.0", "1.1.0")
	h, rules := hosttest.New(t), project.Registry{URL: r.URL, LogKey: r.Key}
	if _, err := hosttest.RecordSeen(t, h, rules, "1.1.0", trail.Options{}); err != nil {
		t.Fatal(err)
	}
	kept := keptLogs(t, h)
	r.Publish("1.2.0", "1.3.0", "1.4.0")
	flip := func(prefix string, at int) func(string, []byte) []byte {
		return func(path string, body []byte) []byte {
			if strings.HasPrefix(path, prefix) && len(body) > at {
				body = bytes.Clone(body)
				body[at] ^= 1
			}
			return body
		}
	}
	r.OnWire(flip("/tile/0/", 2*32+5))
	m, err := hosttest.Monitored(t, r, "")
	hosttest.Finds(t, m, err, monitor.AnomalyTile, 2, "tile/0/000.p/5")
	_, err = hosttest.RecordSeen(t, h, rules, "1.1.0", trail.Options{})
	hosttest.RefusedWith(t, err, evidence.Integrity, "SECURITY ERROR")
	r.OnWire(flip("/checkpoint", len("log.example.com\n5\nAAAA")))
	m, err = hosttest.Monitored(t, r, "")
	hosttest.Finds(t, m, err, monitor.AnomalyCheckpoint, -1, "signed by log.example.com")
	_, err = hosttest.RecordSeen(t, h, rules, "1.1.0", trail.Options{})
	hosttest.RefusedWith(t, err, evidence.Signature, r.Key)
	if keptLogs(t, h) != kept {
		t.Error("a refusal changed what is kept")
	}
	r.OnWire(nil)
	if _, err := hosttest.RecordSeen(t, h, rules, "1.1.0", trail.Options{}); err != nil {
		t.Fatal(err)
	}
	if keptLogs(t, h) == kept {
		t.Error("the newer checkpoint was not kept")
	}
}

// The operator puts back an older database. What was signed last lies outside it, so that
// the registry itself refuses; without that the clients find out.
func TestOlderBackup(t *testing.T) {
	r := hosttest.NewLoggedRegistry(t, "")
	r.Publish("1.0.0", "1.1.0")
	r.Close()
	backup, err := os.ReadFile(r.DB())
	if err != nil {
		t.Fatal(err)
	}
	r.Start()
	r.Publish("1.2.0", "1.3.0")
	h, rules := hosttest.New(t), project.Registry{URL: r.URL, LogKey: r.Key}
	path := filepath.Join(t.TempDir(), "state")
	if _, err := hosttest.RecordSeen(t, h, rules, "1.0.0", trail.Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err := hosttest.Monitored(t, r, path); err != nil {
		t.Fatal(err)
	}
	kept := keptLogs(t, h)
	r.Close()
	for _, suffix := range []string{"", "-wal", "-shm"} {
		os.Remove(r.DB() + suffix)
	}
	os.WriteFile(r.DB(), backup, 0o600)
	r.Start()
	if _, err := (&client.Client{Base: r.URL}).Publish(t.Context(), hosttest.NotesDocument("6.6.6", "Notes"),
		""); err == nil {
		t.Error("a registry that was set back publishes")
	}
	r.Change(func(db *sql.DB) { // and the operator says that the log is the key's first
		os.Remove(filepath.Join(r.Dir, "head"))
		hosttest.Exec(t, db, "UPDATE log_head SET signed = 0")
	})
	_, err = hosttest.RecordSeen(t, h, rules, "1.0.0", trail.Options{})
	hosttest.RefusedWith(t, err, evidence.Integrity, "SECURITY ERROR", "log.example.com\n    4\n",
		"log.example.com\n    2\n",
		"docs/ledger.md")
	m, err := hosttest.Monitored(t, r, path)
	hosttest.Finds(t, m, err, monitor.AnomalyFork, -1, "4 entries", "2 entries")
	// it goes on as if nothing had been
	r.Publish("2.0.0", "2.1.0", "2.2.0")
	_, err = hosttest.RecordSeen(t, h, rules, "1.0.0", trail.Options{})
	hosttest.RefusedWith(t, err, evidence.Integrity, "SECURITY ERROR", "log.example.com\n    4\n",
		"log.example.com\n    5\n")
	m, err = hosttest.Monitored(t, r, path)
	hosttest.Finds(t, m, err, monitor.AnomalyFork, 2, "io.github.acme/notes@2.0.0", hosttest.DigestOf(t,
		hosttest.NotesDocument("1.2.0", "Notes")),
		hosttest.DigestOf(t, hosttest.NotesDocument("2.0.0", "Notes")))
	if keptLogs(t, h) != kept {
		t.Error("a refusal changed what is kept")
	}
}

// A registry shows two people two histories, each in order by itself. Who saw one does not
// accept the other, and a witness cosigns one of them only.
func TestSplitView(t *testing.T) {
	one := hosttest.NewLoggedRegistry(t, "")
	two := hosttest.NewLoggedRegistry(t, one.KeyFile)
	one.Publish("1.0.0", "1.1.0")
	two.Publish("1.0.0", "1.2.0", "1.3.0")
	front := hosttest.NewLoggedRegistry(t, one.KeyFile)
	show := func(r *hosttest.LoggedRegistry) { front.Handler.Store(r.Handler.Load()) }
	h, other := hosttest.New(t), hosttest.New(t)
	rules := project.Registry{URL: front.URL, LogKey: one.Key}
	show(one)
	if _, err := hosttest.RecordSeen(t, h, rules, "1.0.0", trail.Options{}); err != nil {
		t.Fatal(err)
	}
	show(two)
	if _, err := hosttest.RecordSeen(t, other, rules, "1.0.0", trail.Options{}); err != nil {
		t.Fatal(err)
	}
	_, err := hosttest.RecordSeen(t, h, rules, "1.0.0", trail.Options{})
	hosttest.RefusedWith(t, err, evidence.Integrity, "SECURITY ERROR", "log.example.com\n    2\n",
		"log.example.com\n    3\n")
	show(one)
	_, err = hosttest.RecordSeen(t, other, rules, "1.0.0", trail.Options{})
	hosttest.RefusedWith(t, err, evidence.Integrity, "SECURITY ERROR")

	key := hosttest.NewWitnessKey(t)
	w, err := monitor.OpenWitness(
		monitor.WitnessConfig{Dir: t.TempDir(), Key: key, Logs: []string{one.Key}, Begin: true,
			Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	cosigned := func(r *hosttest.LoggedRegistry) []byte {
		note, err := (&client.Client{Base: r.URL}).Checkpoint(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		out := httptest.NewRecorder()
		w.ServeHTTP(out,
			httptest.NewRequest(http.MethodPost, "/add-checkpoint",
				bytes.NewReader(ledger.AddCheckpoint{Checkpoint: note}.Marshal())))
		if out.Code == http.StatusOK {
			note = append(note, out.Body.Bytes()...)
		}
		return note
	}
	rules.Witnesses, rules.Quorum, rules.MaxAge = []string{key.VerifierKey}, 1, time.Hour
	for _, r := range []*hosttest.LoggedRegistry{one, two} {
		note := cosigned(r)
		r.OnWire(nil)
		show(r)
		front.OnWire(func(path string, body []byte) []byte {
			if path == "/checkpoint" {
				return note
			}
			return body
		})
		got, err := hosttest.RecordSeen(t, hosttest.New(t), rules, "1.0.0", trail.Options{})
		if r == two {
			hosttest.RefusedWith(t, err, evidence.Signature, "cosignature mismatch", "0 of 1 witnesses")
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		// the proof in the lock is under the checkpoint that the witness has seen
		trust, _ := rules.Trust(one.Key)
		if v := policy.Judge(policy.Check, policy.Settings{},
			trail.ProofEvidence(trust.Log.Name(), trust.Open, got.Lock)); !v.Allowed() {
			t.Error(v.Err())
		}
		// and is stale a day later
		late := hosttest.New(t)
		late.Now = func() time.Time { return time.Now().Add(24 * time.Hour) }
		_, err = hosttest.RecordSeen(t, late, rules, "1.0.0", trail.Options{})
		hosttest.RefusedWith(t, err, evidence.Refused, "checkpoint mismatch", "stale: cosigned at")
		early := hosttest.New(t)
		early.Now = func() time.Time { return time.Now().Add(-time.Hour) }
		_, err = hosttest.RecordSeen(t, early, rules, "1.0.0", trail.Options{})
		hosttest.RefusedWith(t, err, evidence.Refused, "checkpoint mismatch", "cosigned in the future")
		// what the witness has not seen yet is not relied on
		r.Publish("1.9.0")
		_, err = hosttest.RecordSeen(t, hosttest.New(t), rules, "1.9.0", trail.Options{})
		hosttest.RefusedWith(t, err, evidence.Operation, "have not seen entry 2 of the log yet", "try again")
	}
}

// What the log says of a record later is shown: statuses and findings.
func TestLater(t *testing.T) {
	r := hosttest.NewLoggedRegistry(t, "")
	r.Publish("1.0.0", "1.1.0")
	rules := project.Registry{URL: r.URL, LogKey: r.Key}
	r.Close()
	records, err := sqlite.Open(t.Context(), r.DB())
	if err != nil {
		t.Fatal(err)
	}
	if err := records.AddFinding(t.Context(), registry.Finding{
		Name: "io.github.acme/notes", Version: "1.0.0", At: time.Now(),
		Evidence: []byte(`[{"subject":"npm:notes@1.0.0","scheme":"file","outcome":"mismatch"}]`),
	}); err != nil {
		t.Fatal(err)
	}
	records.Close()
	r.Start()
	hosttest.EventuallySized(t, r, 3)
	got, err := hosttest.RecordSeen(t, hosttest.New(t), rules, "1.0.0", trail.Options{})
	if err != nil {
		t.Fatal(err)
	}
	warned := false
	for _, f := range policy.Judge(policy.Pin, policy.Settings{}, got.Report).Warnings() {
		warned = warned ||
			f.Evidence.Scheme == evidence.Finding &&
				strings.Contains(f.Evidence.Reason, "npm:notes@1.0.0: file mismatch") &&
				strings.Contains(f.Evidence.Observed.From, "entry 2")
	}
	if !warned {
		t.Errorf("%+v", got.Report)
	}
	if m, err := hosttest.Monitored(t, r, ""); err != nil {
		t.Errorf("%v %+v", err, m)
	}
}

// The registry names entries that are not about the record, or another one as the one
// that published it.
func TestLaterIsChecked(t *testing.T) {
	r := hosttest.NewLoggedRegistry(t, "")
	r.Publish("1.0.0", "1.1.0")
	rules := project.Registry{URL: r.URL, LogKey: r.Key}
	r.Close()
	records, err := sqlite.Open(t.Context(), r.DB())
	if err != nil {
		t.Fatal(err)
	}
	for _, status := range []registry.Status{registry.Deprecated, registry.Active} {
		if _, _, err := records.SetStatus(t.Context(), "io.github.acme/notes", "1.1.0",
			registry.Change{Status: status, At: time.Now()}); err != nil {
			t.Fatal(err)
		}
	}
	records.Close()
	r.Start()
	hosttest.EventuallySized(t, r, 4)
	entries := func(text string) {
		r.OnWire(func(path string, body []byte) []byte {
			if strings.HasSuffix(path, "/log") {
				return []byte(text)
			}
			return body
		})
	}
	for _, tt := range []struct{ version, entries, says string }{
		{"1.0.0", `{"index":0,"later":[2]}`, "entry 2 of its log as one about it"}, // of another version
		{"1.1.0", `{"index":1,"later":[0,2]}`, "entry 0 of its log as one about it"},
		{"1.1.0", `{"index":1,"later":[1]}`, "entry 1 of its log as one about it"}, // published it
		{"1.1.0", `{"index":0,"later":[]}`, "the log holds the same name and version twice"},
	} {
		entries(tt.entries)
		_, err := hosttest.RecordSeen(t, hosttest.New(t), rules, tt.version, trail.Options{})
		hosttest.RefusedWith(t, err, evidence.Integrity, tt.says)
	}
	// the newest counts, in whatever order they are named; what is after the head is not read
	for _, named := range []string{`[2,3]`, `[3,2]`, `[2,3,4,99]`} {
		entries(`{"index":1,"later":` + named + `}`)
		got, err := hosttest.RecordSeen(t, hosttest.New(t), rules, "1.1.0", trail.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range got.Report {
			if e.Scheme == evidence.Status && e.Authority == evidence.Log &&
				(e.Outcome != evidence.Match || !strings.Contains(e.Observed.From, "entry 3")) {
				t.Errorf("%s: %+v", named, e)
			}
		}
	}
}

// Somebody deletes an entry in the middle of the log. The registry has signed it, and does
// not go on; whoever asks for that part of the log is told so.
func TestEntryDropped(t *testing.T) {
	r := hosttest.NewLoggedRegistry(t, "")
	r.Publish("1.0.0", "1.1.0", "1.2.0")
	h, rules := hosttest.New(t), project.Registry{URL: r.URL, LogKey: r.Key}
	if _, err := hosttest.RecordSeen(t, h, rules, "1.1.0", trail.Options{}); err != nil {
		t.Fatal(err)
	}
	r.Change(func(db *sql.DB) { hosttest.Exec(t, db, "DELETE FROM log_entries WHERE idx = 1") })
	m, err := hosttest.Monitored(t, r, "")
	hosttest.RefusedWith(t, err, evidence.Integrity,
		"SECURITY ERROR: tile/entries/000.p/3 is in the tree that was signed, and not served")
	if len(m.Found) != 0 {
		t.Errorf("what may come back is kept as found: %+v", m.Found)
	}
	_, err = hosttest.RecordSeen(t, h, rules, "1.1.0", trail.Options{})
	hosttest.RefusedWith(t, err, evidence.Integrity, "the registry has a log, and no proof that the record is in it")
	if _, err := (&client.Client{Base: r.URL}).Publish(t.Context(), hosttest.NotesDocument("1.3.0", "Notes"),
		""); err == nil {
		t.Error("it goes on")
	}
}

// Of two logs with one name, which this machine knows both, a proof is of its own.
func TestTwoLogsOfOneName(t *testing.T) {
	one, two := hosttest.NewLoggedRegistry(t, ""), hosttest.NewLoggedRegistry(t, "")
	h := hosttest.New(t)
	for _, r := range []*hosttest.LoggedRegistry{one, two} {
		r.Publish("1.0.0")
		if _, err := hosttest.RecordSeen(t, h, project.Registry{URL: r.URL, LogKey: r.Key}, "1.0.0", trail.Options{}); err !=
			nil {
			t.Fatal(err)
		}
	}
	for _, r := range []*hosttest.LoggedRegistry{one, two} {
		text, err := (&client.Client{Base: r.URL}).Proof(t.Context(), "io.github.acme/notes", "1.0.0")
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "proof")
		os.WriteFile(file, text, 0o600)
		if p, err := trail.VerifyProof(h, file, ""); err != nil || p.Index != 0 {
			t.Errorf("%v", err)
		}
		_, err = trail.VerifyProof(hosttest.New(t), file, "")
		hosttest.RefusedWith(t, err, evidence.Refused, "--log-key")
		_, err = trail.VerifyProof(hosttest.New(t), file, map[string]string{one.Key: two.Key, two.Key: one.Key}[r.Key])
		hosttest.RefusedWith(t, err, evidence.Signature)
	}
}
