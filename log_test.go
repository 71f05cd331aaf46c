package hallmark

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/tlog"
	_ "modernc.org/sqlite"

	"github.com/hallmark-mcp/hallmark/archive"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/check"
	"github.com/hallmark-mcp/hallmark/internal/document"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/hosttest"
	"github.com/hallmark-mcp/hallmark/internal/monitor"
	"github.com/hallmark-mcp/hallmark/internal/publish"
	"github.com/hallmark-mcp/hallmark/internal/record"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/api"
	"github.com/hallmark-mcp/hallmark/internal/registry/blobs"
	"github.com/hallmark-mcp/hallmark/internal/registry/client"
	"github.com/hallmark-mcp/hallmark/internal/registry/kinds"
	registrylog "github.com/hallmark-mcp/hallmark/internal/registry/log"
	"github.com/hallmark-mcp/hallmark/internal/registry/logkey"
	"github.com/hallmark-mcp/hallmark/internal/registry/server"
	"github.com/hallmark-mcp/hallmark/internal/registry/sqlite"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/internal/witness"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/serverjson"
)

// loggedRegistry is a registry with a log, that can be stopped, changed and started again
// under one URL.
type loggedRegistry struct {
	t       *testing.T
	dir     string
	keyFile string
	Key     string
	URL     string
	handler atomic.Pointer[http.Handler]
	// Wire changes answers on their way; nil leaves them.
	wire  atomic.Pointer[func(path string, body []byte) []byte]
	close func()
}

func newLoggedRegistry(t *testing.T, keyFile string) *loggedRegistry {
	t.Helper()
	r := &loggedRegistry{t: t, dir: t.TempDir(), keyFile: keyFile}
	if keyFile == "" {
		r.keyFile = filepath.Join(r.dir, "log.key")
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		rec := httptest.NewRecorder()
		(*r.handler.Load()).ServeHTTP(rec, req)
		body := rec.Body.Bytes()
		if change := r.wire.Load(); change != nil {
			body = (*change)(req.URL.Path, body)
		}
		for k, v := range rec.Header() {
			if k != "Content-Length" {
				w.Header()[k] = v
			}
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		w.WriteHeader(rec.Code)
		w.Write(body)
	}))
	t.Cleanup(srv.Close)
	r.URL = srv.URL
	r.start()
	t.Cleanup(func() { r.close() })
	return r
}

func (r *loggedRegistry) db() string { return filepath.Join(r.dir, "registry.db") }

func (r *loggedRegistry) start() {
	r.t.Helper()
	if err := r.tryStart(); err != nil {
		r.t.Fatal(err)
	}
}

func (r *loggedRegistry) tryStart() error {
	records, err := sqlite.Open(r.t.Context(), r.db())
	if err != nil {
		return err
	}
	key, _, err := logkey.Open(r.t.Context(), r.keyFile, "log.example.com")
	if err != nil {
		return errors.Join(err, records.Close())
	}
	r.Key = key.VerifierKey
	heads := registrylog.FileHeads{Path: filepath.Join(r.dir, "head")}
	// two of them have one key to contradict each other
	if _, err := os.Stat(heads.Path); errors.Is(err, os.ErrNotExist) {
		if err := registrylog.Begin(r.t.Context(), records, heads, key); err != nil {
			return errors.Join(err, records.Close())
		}
	}
	log, err := registrylog.Open(r.t.Context(), records, heads, key, nil)
	if err != nil && (log == nil || !errors.Is(err, registrylog.ErrBroken)) {
		return errors.Join(err, records.Close())
	}
	blobs, err := blobs.OpenFiles(filepath.Join(r.dir, "blobs"))
	if err != nil {
		return err
	}
	handler, err := server.New(api.Config{
		Records: records, Statuses: records, Tokens: records.Tokens(), Log: log, Validation: registry.Off,
		AllowAnonymous: true,
		Blobs:          blobs, Archives: kinds.All(archive.Limits{}), ArchiveRecords: records,
	})
	if err != nil {
		return err
	}
	r.handler.Store(&handler)
	r.close = func() { log.Close(); records.Close() }
	return nil
}

// change stops the registry, lets somebody work on its database, and starts it again.
func (r *loggedRegistry) change(work func(*sql.DB)) {
	r.t.Helper()
	r.close()
	db, err := sql.Open("sqlite", r.db())
	if err != nil {
		r.t.Fatal(err)
	}
	if work != nil {
		work(db)
	}
	if err := db.Close(); err != nil {
		r.t.Fatal(err)
	}
	r.start()
}

func (r *loggedRegistry) onWire(change func(path string, body []byte) []byte) {
	if change == nil {
		r.wire.Store(nil)
		return
	}
	r.wire.Store(&change)
}

func notesDocument(version, description string) []byte {
	return fmt.Appendf(nil, `{"$schema":"https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
		"name":"io.github.acme/notes","description":%q,"version":%q,"remotes":[{"type":"streamable-http","url":"https://mcp.example.com/%s"}]}`, description, version, version)
}

func (r *loggedRegistry) publish(versions ...string) {
	r.t.Helper()
	for _, v := range versions {
		if _, err := (&client.Client{Base: r.URL}).Publish(r.t.Context(), notesDocument(v, "Notes"), ""); err != nil {
			r.t.Fatal(err)
		}
	}
}

func must(t *testing.T, db *sql.DB, statement string, args ...any) {
	t.Helper()
	res, err := db.Exec(statement, args...)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := res.RowsAffected(); err == nil && n == 0 && !strings.HasPrefix(statement, "DROP") {
		t.Fatalf("%s: nothing changed", statement)
	}
}

// record is what a client finds out about a version: its evidence, judged as at pin.
func recordSeen(t *testing.T, h *host.Host, rules project.Registry, version string, o trail.Options) (*record.Record,
	error) {
	t.Helper()
	w := &workspace.Workspace{Host: h, Config: &project.Config{Registry: rules}}
	r, err := record.FetchNamed(t.Context(), w, w.Logs(o), "io.github.acme/notes@"+version)
	if err != nil {
		return nil, err
	}
	return r, policy.Judge(policy.Pin, policy.Settings{}, r.Report).Err()
}

func keptLogs(t *testing.T, h *host.Host) string {
	t.Helper()
	data, err := host.ReadFile(filepath.Join(h.Places.State, "logs.json"), project.MaxLogs)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// refusedWith checks the class of an error and what it says.
func refusedWith(t *testing.T, err error, class evidence.Class, says ...string) {
	t.Helper()
	if err == nil || evidence.ClassOf(err) != class {
		t.Fatalf("class %v, want %v: %v", evidence.ClassOf(err), class, err)
	}
	for _, s := range says {
		if !strings.Contains(err.Error(), s) {
			t.Fatalf("does not say %q:\n%v", s, err)
		}
	}
}

// The first use needs somebody's word for the key, which then stays.
func TestFirstUse(t *testing.T) {
	r := newLoggedRegistry(t, "")
	r.publish("1.0.0")
	rules := project.Registry{URL: r.URL}
	h := hosttest.New(t)
	_, err := recordSeen(t, h, rules, "1.0.0", trail.Options{})
	refusedWith(t, err, evidence.Refused, "log-key absent", r.Key, "--log-key")
	asked := ""
	no := trail.Options{
		Ask: func(name, key string) (host.Consent, error) { asked = name + " " + key; return host.NoConsent, nil }}
	if _, err := recordSeen(t, h, rules, "1.0.0", no); evidence.ClassOf(err) != evidence.Refused ||
		asked != rules.Name()+" "+r.Key {
		t.Fatalf("%v, asked %q", err, asked)
	}
	if keptLogs(t, h) != "" {
		t.Fatal("something was kept of a key that nobody accepted")
	}
	yes := trail.Options{Ask: func(string, string) (host.Consent, error) { return host.InformedConsent, nil }}
	got, err := recordSeen(t, h, rules, "1.0.0", yes)
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
	if _, err := recordSeen(t, h, rules, "1.0.0", trail.Options{}); err != nil { // nobody has to be asked again
		t.Fatal(err)
	}
	// another key, from hallmark.toml or the command line, is not the one that was accepted
	_, other, _ := ledger.GenerateKey(bytes.NewReader(make([]byte, 64)), "log.example.com")
	refused := rules
	refused.LogKey = other
	_, err = recordSeen(t, h, refused, "1.0.0", trail.Options{})
	refusedWith(t, err, evidence.Integrity, "SECURITY ERROR", r.Key, other)
	_, err = recordSeen(t, h, rules, "1.0.0", trail.Options{Key: other})
	refusedWith(t, err, evidence.Integrity, "SECURITY ERROR")
	// and on a machine that knows none, nothing signed under it is believed
	_, err = recordSeen(t, hosttest.New(t), refused, "1.0.0", trail.Options{})
	refusedWith(t, err, evidence.Signature, other)
	if keptLogs(t, h) != kept {
		t.Error("a refusal changed what is kept")
	}
	// forgetting asks again
	if key, err := trail.Forget(t.Context(), h, r.URL); err != nil || key != r.Key {
		t.Fatal(key, err)
	}
	_, err = recordSeen(t, h, rules, "1.0.0", trail.Options{})
	refusedWith(t, err, evidence.Refused)
}

// A registry without a log is reported; one that had a log cannot lose it.
func TestNoDowngrade(t *testing.T) {
	r := newLoggedRegistry(t, "")
	r.publish("1.0.0")
	rules := project.Registry{URL: r.URL}
	h := hosttest.New(t)
	withLog := *r.handler.Load()
	without := http.Handler(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/checkpoint" || strings.HasSuffix(req.URL.Path, "/proof") {
			http.NotFound(w, req)
			return
		}
		withLog.ServeHTTP(w, req)
	}))
	r.handler.Store(&without)
	got, err := recordSeen(t, h, rules, "1.0.0", trail.Options{})
	if err != nil || got.Lock.Proof != "" || got.Report.Count(evidence.Absent) != 1 {
		t.Fatalf("%v %+v", err, got)
	}
	if v := policy.Judge(policy.Pin, policy.Settings{}, got.Report); len(v.Warnings()) != 1 ||
		v.Warnings()[0].Evidence.Authority != evidence.Log {
		t.Errorf("%+v", v.Warnings())
	}
	_, err = recordSeen(t, h, rules, "1.0.0", trail.Options{Key: r.Key})
	refusedWith(t, err, evidence.Integrity, "SECURITY ERROR: the registry shows no log", r.Key)
	r.handler.Store(&withLog)
	if _, err := recordSeen(t, h, rules, "1.0.0", trail.Options{Key: r.Key}); err != nil {
		t.Fatal(err)
	}
	r.handler.Store(&without)
	_, err = recordSeen(t, h, rules, "1.0.0", trail.Options{})
	refusedWith(t, err, evidence.Integrity, "SECURITY ERROR: the registry shows no log")
}

// monitored runs one round of a monitor.
func monitored(t *testing.T, r *loggedRegistry, state string) (*monitor.Result, error) {
	t.Helper()
	return monitor.Monitor(t.Context(), hosttest.New(t),
		monitor.Options{URL: r.URL, Log: trail.Options{Key: r.Key}, State: state})
}

// finds checks that a monitor reports what, and names where.
func finds(t *testing.T, m *monitor.Result, err error, what string, index int64, says ...string) {
	t.Helper()
	if evidence.ClassOf(err) != evidence.Integrity {
		t.Fatalf("class %v: %v, %+v", evidence.ClassOf(err), err, m)
	}
	for _, a := range m.Found {
		if a.What != what || (a.Index == nil) != (index < 0) || a.Index != nil && *a.Index != index {
			continue
		}
		all := fmt.Sprintf("%s %s %s %s %s", a.Subject, a.Path, a.Expected, a.Actual, a.Detail)
		for _, s := range says {
			if !strings.Contains(all, s) {
				t.Errorf("%s: does not say %q: %s", what, s, all)
			}
		}
		return
	}
	t.Fatalf("no %s at entry %d among %+v", what, index, m.Found)
}

func digestOf(t *testing.T, doc []byte) string {
	t.Helper()
	canonical, err := serverjson.Canonical(doc)
	if err != nil {
		t.Fatal(err)
	}
	return digest.FromBytes(canonical).String()
}

func TestHonestLog(t *testing.T) {
	r := newLoggedRegistry(t, "")
	path := filepath.Join(t.TempDir(), "state")
	for i := range 3 {
		for j := range 100 {
			r.publish(fmt.Sprintf("1.%d.%d", i, j))
		}
		m, err := monitored(t, r, path)
		if err != nil || m.Size != int64(100*(i+1)) || m.Read != 100 || m.Records != m.Size || len(m.Found) != 0 {
			t.Fatalf("%v %+v", err, m)
		}
	}
	if m, err := monitored(t, r, ""); err != nil || m.Read != 300 {
		t.Fatalf("%v %+v", err, m)
	}
	// a state that was damaged is not read as an empty one
	data, _ := os.ReadFile(path)
	line := bytes.IndexByte(data, '\n')
	for _, damaged := range [][]byte{nil, data[:line/2], data[:line], data[:line+1], data[:len(data)/2],
		data[:len(data)-1], append(bytes.Clone(data), 0)} {
		os.WriteFile(path, damaged, 0o600)
		_, err := monitored(t, r, path)
		refusedWith(t, err, evidence.Validation, path)
	}
}

// Somebody changes a record in the database.
func TestRecordRewritten(t *testing.T) {
	r := newLoggedRegistry(t, "")
	r.publish("1.0.0", "1.1.0", "1.2.0")
	h, rules := hosttest.New(t), project.Registry{URL: r.URL, LogKey: r.Key}
	if _, err := recordSeen(t, h, rules, "1.1.0", trail.Options{}); err != nil {
		t.Fatal(err)
	}
	other := notesDocument("1.1.0", "Other notes")
	r.change(func(db *sql.DB) {
		must(t, db, "UPDATE servers SET document = ?, document_digest = ? WHERE version = '1.1.0'", string(other),
			digestOf(t, other))
	})
	_, err := recordSeen(t, h, rules, "1.1.0", trail.Options{})
	refusedWith(t, err, evidence.Integrity, "document mismatch", digestOf(t, notesDocument("1.1.0", "Notes")),
		digestOf(t, other), "entry 1 of the log log.example.com", "SECURITY ERROR")
	m, err := monitored(t, r, "")
	finds(t, m, err, monitor.AnomalyRecord, 1, "io.github.acme/notes@1.1.0",
		digestOf(t, notesDocument("1.1.0", "Notes")), digestOf(t, other))
}

// Somebody changes, drops, repeats or hides what the log has, in the database.
func TestLeafRewritten(t *testing.T) {
	r := newLoggedRegistry(t, "")
	r.publish("1.0.0", "1.1.0", "1.2.0")
	r.change(func(db *sql.DB) {
		must(t, db, "UPDATE log_entries SET leaf = replace(leaf, 'anonymous', 'somebody!') WHERE idx = 1")
	})
	m, err := monitored(t, r, "")
	finds(t, m, err, monitor.AnomalyTile, 1, "tile/0/000.p/3")
	finds(t, m, err, monitor.AnomalyRoot, -1, "3 entries")
}

func TestRecordDroppedAndHidden(t *testing.T) {
	r := newLoggedRegistry(t, "")
	r.publish("1.0.0", "1.1.0", "1.2.0")
	r.change(func(db *sql.DB) {
		must(t, db, "DELETE FROM servers WHERE version = '1.1.0'")
		must(t, db, "UPDATE servers SET version = '6.6.6' WHERE version = '1.2.0'")
	})
	m, err := monitored(t, r, "")
	finds(t, m, err, monitor.AnomalyMissing, 1, "io.github.acme/notes@1.1.0",
		digestOf(t, notesDocument("1.1.0", "Notes")))
}

// The same version published twice, with a tree and a signature that are in order.
func TestSameVersionTwice(t *testing.T) {
	r := newLoggedRegistry(t, "")
	r.publish("1.0.0", "1.1.0")
	h, rules := hosttest.New(t), project.Registry{URL: r.URL, LogKey: r.Key}
	locked, err := recordSeen(t, h, rules, "1.0.0", trail.Options{})
	if err != nil {
		t.Fatal(err)
	}
	other := notesDocument("1.0.0", "Other notes")
	canonical, _ := serverjson.Canonical(other)
	text, err := ledger.Leaf{
		Kind: ledger.Server, Name: "io.github.acme/notes", Version: "1.0.0", Document: digest.FromBytes(canonical),
		Publisher: "somebody", At: time.Now().UTC().Truncate(time.Second),
	}.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	hash := tlog.RecordHash(text)
	r.change(func(db *sql.DB) {
		must(t, db, "DROP INDEX log_published")
		must(t, db, "INSERT INTO log_entries VALUES (2, 'server', 'io.github.acme/notes', '1.0.0', ?, ?)", string(text),
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
		must(t, db, "UPDATE log_head SET edge = ?", edge.Marshal())
		must(t, db, "UPDATE servers SET document = ?, document_digest = ? WHERE version = '1.0.0'", string(other),
			digestOf(t, other))
	})
	eventuallySized(t, r, 3)
	m, err := monitored(t, r, "")
	finds(t, m, err, monitor.AnomalyDuplicate, 2, "io.github.acme/notes@1.0.0", "entry 0 alone",
		digestOf(t, notesDocument("1.0.0", "Notes")), digestOf(t, other))
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
	r := newLoggedRegistry(t, "")
	r.publish("1.0.0", "1.1.0")
	h, rules := hosttest.New(t), project.Registry{URL: r.URL, LogKey: r.Key}
	if _, err := recordSeen(t, h, rules, "1.1.0", trail.Options{}); err != nil {
		t.Fatal(err)
	}
	kept := keptLogs(t, h)
	r.publish("1.2.0", "1.3.0", "1.4.0")
	flip := func(prefix string, at int) func(string, []byte) []byte {
		return func(path string, body []byte) []byte {
			if strings.HasPrefix(path, prefix) && len(body) > at {
				body = bytes.Clone(body)
				body[at] ^= 1
			}
			return body
		}
	}
	r.onWire(flip("/tile/0/", 2*32+5))
	m, err := monitored(t, r, "")
	finds(t, m, err, monitor.AnomalyTile, 2, "tile/0/000.p/5")
	_, err = recordSeen(t, h, rules, "1.1.0", trail.Options{})
	refusedWith(t, err, evidence.Integrity, "SECURITY ERROR")
	r.onWire(flip("/checkpoint", len("log.example.com\n5\nAAAA")))
	m, err = monitored(t, r, "")
	finds(t, m, err, monitor.AnomalyCheckpoint, -1, "signed by log.example.com")
	_, err = recordSeen(t, h, rules, "1.1.0", trail.Options{})
	refusedWith(t, err, evidence.Signature, r.Key)
	if keptLogs(t, h) != kept {
		t.Error("a refusal changed what is kept")
	}
	r.onWire(nil)
	if _, err := recordSeen(t, h, rules, "1.1.0", trail.Options{}); err != nil {
		t.Fatal(err)
	}
	if keptLogs(t, h) == kept {
		t.Error("the newer checkpoint was not kept")
	}
}

// The operator puts back an older database. What was signed last lies outside it, so that
// the registry itself refuses; without that the clients find out.
func TestOlderBackup(t *testing.T) {
	r := newLoggedRegistry(t, "")
	r.publish("1.0.0", "1.1.0")
	r.close()
	backup, err := os.ReadFile(r.db())
	if err != nil {
		t.Fatal(err)
	}
	r.start()
	r.publish("1.2.0", "1.3.0")
	h, rules := hosttest.New(t), project.Registry{URL: r.URL, LogKey: r.Key}
	path := filepath.Join(t.TempDir(), "state")
	if _, err := recordSeen(t, h, rules, "1.0.0", trail.Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err := monitored(t, r, path); err != nil {
		t.Fatal(err)
	}
	kept := keptLogs(t, h)
	r.close()
	for _, suffix := range []string{"", "-wal", "-shm"} {
		os.Remove(r.db() + suffix)
	}
	os.WriteFile(r.db(), backup, 0o600)
	r.start()
	if _, err := (&client.Client{Base: r.URL}).Publish(t.Context(), notesDocument("6.6.6", "Notes"), ""); err == nil {
		t.Error("a registry that was set back publishes")
	}
	r.change(func(db *sql.DB) { // and the operator says that the log is the key's first
		os.Remove(filepath.Join(r.dir, "head"))
		must(t, db, "UPDATE log_head SET signed = 0")
	})
	_, err = recordSeen(t, h, rules, "1.0.0", trail.Options{})
	refusedWith(t, err, evidence.Integrity, "SECURITY ERROR", "log.example.com\n    4\n", "log.example.com\n    2\n",
		"docs/ledger.md")
	m, err := monitored(t, r, path)
	finds(t, m, err, monitor.AnomalyFork, -1, "4 entries", "2 entries")
	// it goes on as if nothing had been
	r.publish("2.0.0", "2.1.0", "2.2.0")
	_, err = recordSeen(t, h, rules, "1.0.0", trail.Options{})
	refusedWith(t, err, evidence.Integrity, "SECURITY ERROR", "log.example.com\n    4\n", "log.example.com\n    5\n")
	m, err = monitored(t, r, path)
	finds(t, m, err, monitor.AnomalyFork, 2, "io.github.acme/notes@2.0.0", digestOf(t, notesDocument("1.2.0", "Notes")),
		digestOf(t, notesDocument("2.0.0", "Notes")))
	if keptLogs(t, h) != kept {
		t.Error("a refusal changed what is kept")
	}
}

// A registry shows two people two histories, each in order by itself. Who saw one does not
// accept the other, and a witness cosigns one of them only.
func TestSplitView(t *testing.T) {
	one := newLoggedRegistry(t, "")
	two := newLoggedRegistry(t, one.keyFile)
	one.publish("1.0.0", "1.1.0")
	two.publish("1.0.0", "1.2.0", "1.3.0")
	front := newLoggedRegistry(t, one.keyFile)
	show := func(r *loggedRegistry) { front.handler.Store(r.handler.Load()) }
	h, other := hosttest.New(t), hosttest.New(t)
	rules := project.Registry{URL: front.URL, LogKey: one.Key}
	show(one)
	if _, err := recordSeen(t, h, rules, "1.0.0", trail.Options{}); err != nil {
		t.Fatal(err)
	}
	show(two)
	if _, err := recordSeen(t, other, rules, "1.0.0", trail.Options{}); err != nil {
		t.Fatal(err)
	}
	_, err := recordSeen(t, h, rules, "1.0.0", trail.Options{})
	refusedWith(t, err, evidence.Integrity, "SECURITY ERROR", "log.example.com\n    2\n", "log.example.com\n    3\n")
	show(one)
	_, err = recordSeen(t, other, rules, "1.0.0", trail.Options{})
	refusedWith(t, err, evidence.Integrity, "SECURITY ERROR")

	key := newWitnessKey(t)
	w, err := witness.Open(
		witness.Config{Dir: t.TempDir(), Key: key, Logs: []string{one.Key}, Begin: true,
			Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	cosigned := func(r *loggedRegistry) []byte {
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
	for _, r := range []*loggedRegistry{one, two} {
		note := cosigned(r)
		r.onWire(nil)
		show(r)
		front.onWire(func(path string, body []byte) []byte {
			if path == "/checkpoint" {
				return note
			}
			return body
		})
		got, err := recordSeen(t, hosttest.New(t), rules, "1.0.0", trail.Options{})
		if r == two {
			refusedWith(t, err, evidence.Signature, "cosignature mismatch", "0 of 1 witnesses")
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
		_, err = recordSeen(t, late, rules, "1.0.0", trail.Options{})
		refusedWith(t, err, evidence.Refused, "checkpoint mismatch", "stale: cosigned at")
		early := hosttest.New(t)
		early.Now = func() time.Time { return time.Now().Add(-time.Hour) }
		_, err = recordSeen(t, early, rules, "1.0.0", trail.Options{})
		refusedWith(t, err, evidence.Refused, "checkpoint mismatch", "cosigned in the future")
		// what the witness has not seen yet is not relied on
		r.publish("1.9.0")
		_, err = recordSeen(t, hosttest.New(t), rules, "1.9.0", trail.Options{})
		refusedWith(t, err, evidence.Operation, "have not seen entry 2 of the log yet", "try again")
	}
}

func newWitnessKey(t *testing.T) ledger.Key { return newWitnessKeyOf(t, "witness.example.org") }

func newWitnessKeyOf(t *testing.T, name string) ledger.Key {
	t.Helper()
	path := filepath.Join(t.TempDir(), "witness.key")
	if _, _, err := logkey.Open(t.Context(), path, name); err != nil {
		t.Fatal(err)
	}
	secret, _ := os.ReadFile(path)
	key, err := ledger.ParseWitnessKey(strings.TrimSpace(string(secret)))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// What the log says of a record later is shown: statuses and findings.
func TestLater(t *testing.T) {
	r := newLoggedRegistry(t, "")
	r.publish("1.0.0", "1.1.0")
	rules := project.Registry{URL: r.URL, LogKey: r.Key}
	r.close()
	records, err := sqlite.Open(t.Context(), r.db())
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
	r.start()
	eventuallySized(t, r, 3)
	got, err := recordSeen(t, hosttest.New(t), rules, "1.0.0", trail.Options{})
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
	if m, err := monitored(t, r, ""); err != nil {
		t.Errorf("%v %+v", err, m)
	}
}

func eventuallySized(t *testing.T, r *loggedRegistry, size int64) {
	t.Helper()
	trust, err := ledger.NewTrust(r.Key, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		note, err := (&client.Client{Base: r.URL}).Checkpoint(context.Background())
		if err == nil {
			if s, err := trust.Open(note); err == nil && s.Size == size {
				return
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("the log does not come to %d entries", size)
}

// A publish whose proof does not hold is published all the same, and says so.
func TestPublishUnproven(t *testing.T) {
	r := newLoggedRegistry(t, "")
	r.publish("1.0.0")
	h := hosttest.New(t)
	publish := func(version string, o trail.Options) (*publish.Publication, error) {
		doc, err := document.Parse("server.json", notesDocument(version, "Notes"))
		if err != nil {
			t.Fatal(err)
		}
		return publish.Server(t.Context(), h, doc, "server.json",
			publish.Options{Registry: &client.Client{Base: r.URL}, NoHash: true, Log: o})
	}
	r.onWire(func(path string, body []byte) []byte {
		if strings.HasSuffix(path, "/publish") {
			body = bytes.Replace(body, []byte(`\nindex 1\n`), []byte(`\nindex 0\n`), 1)
		}
		return body
	})
	_, err := publish("1.1.0", trail.Options{Key: r.Key})
	refusedWith(t, err, evidence.Integrity, "io.github.acme/notes@1.1.0: is published, but the registry did not prove",
		"SECURITY ERROR")
	if _, err := (&client.Client{Base: r.URL}).Get(t.Context(), "io.github.acme/notes", "1.1.0"); err != nil {
		t.Error(err)
	}
	// a registry with a log that gives no proof, and one that proves another publish
	r.onWire(func(path string, body []byte) []byte {
		if strings.HasSuffix(path, "/publish") {
			body = bytes.Replace(body, []byte(`"proof":`), []byte(`"other":`), 1)
		}
		return body
	})
	_, err = publish("1.2.0", trail.Options{})
	refusedWith(t, err, evidence.Integrity, "is published, but", "gave no proof")
	r.onWire(nil)
	p, err := publish("1.3.0", trail.Options{})
	if err != nil || p.Entry == nil || *p.Entry != 3 {
		t.Fatalf("%v %+v", err, p)
	}
	// a log that contradicts itself gets nothing
	r.onWire(func(path string, body []byte) []byte {
		if strings.HasPrefix(path, "/tile/") {
			body = bytes.Clone(body)
			body[3] ^= 1
		}
		return body
	})
	(&client.Client{Base: r.URL}).Publish(t.Context(), notesDocument("1.4.0", "Notes"), "")
	_, err = publish("1.5.0", trail.Options{})
	refusedWith(t, err, evidence.Integrity, "SECURITY ERROR")
	if _, err := (&client.Client{Base: r.URL}).Get(t.Context(), "io.github.acme/notes",
		"1.5.0"); !trail.IsNotFound(err) {
		t.Errorf("was sent to a log that contradicts itself: %v", err)
	}
}

// What a lock holds is compared with what the registry and its log show now.
func TestCheckRecord(t *testing.T) {
	r := newLoggedRegistry(t, "")
	r.publish("1.0.0", "1.1.0")
	h, rules := hosttest.New(t), project.Registry{URL: r.URL, LogKey: r.Key}
	seen, err := recordSeen(t, h, rules, "1.0.0", trail.Options{})
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
	other, err := recordSeen(t, h, rules, "1.1.0", trail.Options{})
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
	r.close()
	records, err := sqlite.Open(t.Context(), r.db())
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := records.SetStatus(t.Context(), "io.github.acme/notes", "1.0.0",
		registry.Change{Status: registry.Deleted, Message: "leaks keys", At: time.Now()}); err != nil {
		t.Fatal(err)
	}
	records.Close()
	r.start()
	eventuallySized(t, r, 3)
	v, err := check(seen.Lock)
	if err != nil || v.Class() != evidence.Refused || !strings.Contains(v.Err().Error(), "status mismatch") ||
		!strings.Contains(v.Err().Error(), "entry 2") || !strings.Contains(v.Err().Error(), "leaks keys") {
		t.Errorf("%v %v", err, v.Err())
	}
	// and the record goes
	r.change(func(db *sql.DB) { must(t, db, "DELETE FROM servers WHERE version = '1.0.0'") })
	if v, err = check(seen.Lock); err != nil || v.Class() != evidence.Integrity ||
		!strings.Contains(v.Err().Error(), "no such record") {
		t.Errorf("%v %v", err, v.Err())
	}
}

// The registry names entries that are not about the record, or another one as the one
// that published it.
func TestLaterIsChecked(t *testing.T) {
	r := newLoggedRegistry(t, "")
	r.publish("1.0.0", "1.1.0")
	rules := project.Registry{URL: r.URL, LogKey: r.Key}
	r.close()
	records, err := sqlite.Open(t.Context(), r.db())
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
	r.start()
	eventuallySized(t, r, 4)
	entries := func(text string) {
		r.onWire(func(path string, body []byte) []byte {
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
		_, err := recordSeen(t, hosttest.New(t), rules, tt.version, trail.Options{})
		refusedWith(t, err, evidence.Integrity, tt.says)
	}
	// the newest counts, in whatever order they are named; what is after the head is not read
	for _, named := range []string{`[2,3]`, `[3,2]`, `[2,3,4,99]`} {
		entries(`{"index":1,"later":` + named + `}`)
		got, err := recordSeen(t, hosttest.New(t), rules, "1.1.0", trail.Options{})
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
	r := newLoggedRegistry(t, "")
	r.publish("1.0.0", "1.1.0", "1.2.0")
	h, rules := hosttest.New(t), project.Registry{URL: r.URL, LogKey: r.Key}
	if _, err := recordSeen(t, h, rules, "1.1.0", trail.Options{}); err != nil {
		t.Fatal(err)
	}
	r.change(func(db *sql.DB) { must(t, db, "DELETE FROM log_entries WHERE idx = 1") })
	m, err := monitored(t, r, "")
	refusedWith(t, err, evidence.Integrity,
		"SECURITY ERROR: tile/entries/000.p/3 is in the tree that was signed, and not served")
	if len(m.Found) != 0 {
		t.Errorf("what may come back is kept as found: %+v", m.Found)
	}
	_, err = recordSeen(t, h, rules, "1.1.0", trail.Options{})
	refusedWith(t, err, evidence.Integrity, "the registry has a log, and no proof that the record is in it")
	if _, err := (&client.Client{Base: r.URL}).Publish(t.Context(), notesDocument("1.3.0", "Notes"), ""); err == nil {
		t.Error("it goes on")
	}
}

// A status that the registry keeps back from the list is one that differs.
func TestStatusKeptBack(t *testing.T) {
	r := newLoggedRegistry(t, "")
	r.publish("1.0.0", "1.1.0")
	for from, to := range map[string]string{`"status":"active"`: `"was":"active"`,
		`"status":"active",`: `"status":"deleted",`} {
		r.onWire(func(path string, body []byte) []byte {
			if strings.HasSuffix(path, "/servers") {
				body = bytes.Replace(body, []byte(from), []byte(to), 1)
			}
			return body
		})
		m, err := monitored(t, r, "")
		finds(t, m, err, monitor.AnomalyStatus, 0, "io.github.acme/notes@1.0.0", "active")
	}
}

// A lock that has no proof, because it was taken out or because the registry had no log
// then, is held to the log that there is now.
func TestLockWithoutProof(t *testing.T) {
	r := newLoggedRegistry(t, "")
	r.publish("1.0.0")
	h, rules := hosttest.New(t), project.Registry{URL: r.URL, LogKey: r.Key}
	seen, err := recordSeen(t, h, rules, "1.0.0", trail.Options{})
	if err != nil {
		t.Fatal(err)
	}
	other := notesDocument("1.0.0", "Other notes")
	r.change(func(db *sql.DB) {
		must(t, db, "UPDATE servers SET document = ?, document_digest = ?", string(other), digestOf(t, other))
	})
	w := &workspace.Workspace{Host: h, Config: &project.Config{Registry: rules}}
	l, err := trail.Read(t.Context(), h, w.Registry(), rules, trail.Options{})
	if err != nil {
		t.Fatal(err)
	}
	locked := seen.Lock
	locked.Proof = ""
	if locked.Document, err = digest.Parse(digestOf(t, other)); err != nil {
		t.Fatal(err)
	}
	report, err := check.CheckRecord(t.Context(), l, w.Registry(), w, locked)
	if v := policy.Judge(policy.Check, policy.Settings{}, report); err != nil || v.Class() != evidence.Integrity ||
		!strings.Contains(v.Err().Error(), "entry 0 of the log") {
		t.Errorf("%v %+v", err, report)
	}
}

// Of two logs with one name, which this machine knows both, a proof is of its own.
func TestTwoLogsOfOneName(t *testing.T) {
	one, two := newLoggedRegistry(t, ""), newLoggedRegistry(t, "")
	h := hosttest.New(t)
	for _, r := range []*loggedRegistry{one, two} {
		r.publish("1.0.0")
		if _, err := recordSeen(t, h, project.Registry{URL: r.URL, LogKey: r.Key}, "1.0.0", trail.Options{}); err !=
			nil {
			t.Fatal(err)
		}
	}
	for _, r := range []*loggedRegistry{one, two} {
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
		refusedWith(t, err, evidence.Refused, "--log-key")
		_, err = trail.VerifyProof(hosttest.New(t), file, map[string]string{one.Key: two.Key, two.Key: one.Key}[r.Key])
		refusedWith(t, err, evidence.Signature)
	}
}

// A monitor finds a fork at the same size, and one that it is shown for the first time on a
// machine that was shown another log.
func TestMonitorFindsForks(t *testing.T) {
	one := newLoggedRegistry(t, "")
	two := newLoggedRegistry(t, one.keyFile)
	one.publish("1.0.0", "1.1.0")
	two.publish("1.0.0", "1.2.0")
	front := newLoggedRegistry(t, one.keyFile)
	show := func(r *loggedRegistry) { front.handler.Store(r.handler.Load()) }
	h, path := hosttest.New(t), filepath.Join(t.TempDir(), "state")
	follow := func(h *host.Host, state string) (*monitor.Result, error) {
		return monitor.Monitor(t.Context(), h,
			monitor.Options{URL: front.URL, Log: trail.Options{Key: one.Key}, State: state})
	}
	show(one)
	if m, err := follow(h, path); err != nil {
		t.Fatalf("%v %+v", err, m)
	}
	show(two)
	m, err := follow(hosttest.New(t), path) // by its state
	finds(t, m, err, monitor.AnomalyFork, -1, "2 entries")
	finds(t, m, err, monitor.AnomalyFork, 1, "io.github.acme/notes@1.2.0")
	m, err = follow(h, "") // by what the machine was shown
	finds(t, m, err, monitor.AnomalyFork, -1, "SECURITY ERROR", "this machine was shown")
	// what was found stays found, and the state is that of one log
	show(one)
	if m, err = follow(hosttest.New(t), path); evidence.ClassOf(err) != evidence.Integrity || m.Size != 2 {
		t.Errorf("%v %+v", err, m)
	}
	_, other, _ := ledger.GenerateKey(bytes.NewReader(make([]byte, 64)), "log.example.com")
	_, err = monitor.Monitor(t.Context(), hosttest.New(t),
		monitor.Options{URL: front.URL, Log: trail.Options{Key: other}, State: path})
	refusedWith(t, err, evidence.Validation, "another key")
}

// A list without an end does not keep a monitor for ever, whatever its cursors are.
func TestMonitorEndlessList(t *testing.T) {
	r := newLoggedRegistry(t, "")
	for i := range 100 {
		r.publish(fmt.Sprintf("1.0.%d", i))
	}
	first := *r.handler.Load()
	again := http.Handler(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if strings.HasSuffix(req.URL.Path, "/servers") {
			req.URL.RawQuery = "limit=100"
		}
		first.ServeHTTP(w, req)
	}))
	r.handler.Store(&again)
	for _, cursor := range []string{"same", "%d"} {
		n := 0
		r.onWire(func(path string, body []byte) []byte {
			if n++; strings.HasSuffix(path, "/servers") {
				next := strings.Replace(cursor, "%d", fmt.Sprint(n), 1)
				body = bytes.Replace(body, []byte(`"count":100`), fmt.Appendf(nil, `"count":100,"nextCursor":%q`, next),
					1)
			}
			return body
		})
		_, err := monitored(t, r, "")
		refusedWith(t, err, evidence.Operation, "does not end")
	}
}

// The log has the very same publish twice, and proves the second one while it names the
// first: who has the first in a lock finds out.
func TestSameDocumentTwice(t *testing.T) {
	r := newLoggedRegistry(t, "")
	r.publish("1.0.0")
	h, rules := hosttest.New(t), project.Registry{URL: r.URL, LogKey: r.Key}
	locked, err := recordSeen(t, h, rules, "1.0.0", trail.Options{})
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
	r.change(func(db *sql.DB) {
		must(t, db, "UPDATE log_entries SET name = 'hidden' WHERE idx = 0")
		must(t, db, "INSERT INTO log_entries VALUES (1, 'server', 'io.github.acme/notes', '1.0.0', ?, ?)", string(text),
			hash[:])
		must(t, db, "UPDATE log_head SET edge = ?", edge.Marshal())
	})
	eventuallySized(t, r, 2)
	r.onWire(func(path string, body []byte) []byte {
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
	m, err := monitored(t, r, "")
	finds(t, m, err, monitor.AnomalyDuplicate, 1, "entry 0 alone")
}
