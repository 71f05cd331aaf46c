package monitor_test

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/hosttest"
	"github.com/hallmark-mcp/hallmark/internal/monitor"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/sqlite"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
)

// A monitor compares the records of archives with the log, and the archives with them.
func TestMonitorArchives(t *testing.T) {
	if testing.Short() {
		t.Skip("reads as TestMonitorFindsForks does")
	}
	for name, test := range map[string]struct {
		change func(*hosttest.LoggedRegistry, []registry.ArchiveRecord)
		what   string
		index  int64
		says   []string
	}{
		"honest": {},
		"fingerprint rewritten": {func(r *hosttest.LoggedRegistry, all []registry.ArchiveRecord) {
			r.Change(func(db *sql.DB) {
				hosttest.Exec(t, db, "UPDATE archives SET content_integrity = ? WHERE version = '1.1.0'",
					all[2].ContentIntegrity.String())
			})
		}, monitor.AnomalyRecord, 2, []string{"facet review@1.1.0"}},
		"manifest rewritten": {func(r *hosttest.LoggedRegistry, all []registry.ArchiveRecord) {
			r.Change(func(db *sql.DB) {
				hosttest.Exec(t, db, `UPDATE archives SET manifest = replace(manifest, '"x"', '"y"'), document_digest = ? `+
					`WHERE version = '1.1.0'`, digest.FromBytes(nil).String())
			})
		}, monitor.AnomalyRecord, 2, []string{"facet review@1.1.0"}},
		"record dropped": {func(r *hosttest.LoggedRegistry, _ []registry.ArchiveRecord) {
			r.Change(func(db *sql.DB) { hosttest.Exec(t, db, "DELETE FROM archives WHERE version = '1.1.0'") })
		}, monitor.AnomalyMissing, 2, []string{"facet review@1.1.0"}},
		"record without an entry": {func(r *hosttest.LoggedRegistry, _ []registry.ArchiveRecord) {
			r.Change(func(db *sql.DB) {
				hosttest.Exec(t, db, "UPDATE archives SET version = '6.6.6' WHERE version = '1.2.0'")
			})
		}, monitor.AnomalyUnlogged, -1, []string{"facet review@6.6.6"}},
		"status rewritten": {func(r *hosttest.LoggedRegistry, _ []registry.ArchiveRecord) {
			r.Change(func(db *sql.DB) {
				hosttest.Exec(t, db, "UPDATE archives SET status = 'deprecated' WHERE version = '1.1.0'")
			})
		}, monitor.AnomalyStatus, 2, []string{"facet review@1.1.0", "active", "deprecated"}},
		"another archive": {func(r *hosttest.LoggedRegistry, all []registry.ArchiveRecord) {
			blob := func(d digest.Digest) string {
				return filepath.Join(r.Dir, "blobs", "sha256", d.Hex()[:2], d.Hex())
			}
			other, err := os.ReadFile(blob(all[2].ContentHash))
			if err != nil {
				t.Fatal(err)
			}
			os.Chmod(blob(all[1].ContentHash), 0o600)
			if err := os.WriteFile(blob(all[1].ContentHash), other, 0o600); err != nil {
				t.Fatal(err)
			}
		}, monitor.AnomalyArchive, 2, []string{"facet review@1.1.0"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := hosttest.NewLoggedRegistry(t, "")
			r.Publish("1.0.0")
			all := r.Facets("1.0.0", "1.1.0", "1.2.0")
			path := filepath.Join(t.TempDir(), "state")
			if m, err := hosttest.Monitored(t, r, path); err != nil || m.Size != 4 || m.Records != 4 || m.Archives != 3 {
				t.Fatalf("%v %+v", err, m)
			}
			if test.change != nil {
				test.change(r, all)
			}
			m, err := hosttest.Monitored(t, r, path)
			if test.what == "" {
				if err != nil || m.Read != 0 || m.Records != 4 || len(m.Found) != 0 {
					t.Fatalf("%v %+v", err, m)
				}
				return
			}
			hosttest.Finds(t, m, err, test.what, test.index, test.says...)
		})
	}
}

// A finding or a status that the registry keeps back from who asks for the record is in the log,
// and a monitor that reads it there finds that it is kept back: at once, and of what it read in
// earlier runs as it reads that again. Who asks for the record is told what it shows itself.
func TestMonitorLater(t *testing.T) {
	r := hosttest.NewLoggedRegistry(t, "")
	r.Publish("1.0.0", "1.1.0")
	r.Close()
	records, err := sqlite.Open(t.Context(), r.DB())
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = records.SetStatus(t.Context(), "io.github.acme/notes", "1.1.0",
		registry.Change{Status: registry.Deprecated, At: time.Now()})
	if err := errors.Join(err, records.AddFinding(t.Context(), registry.Finding{
		Name: "io.github.acme/notes", Version: "1.0.0", At: time.Now(),
		Evidence: []byte(`[{"subject":"npm:notes@1.0.0","scheme":"file","outcome":"mismatch"}]`),
	}), records.Close()); err != nil {
		t.Fatal(err)
	}
	r.Start()
	hosttest.EventuallySized(t, r, 4)
	state := filepath.Join(t.TempDir(), "state")
	run := func(state string) (*monitor.Result, error) {
		h := hosttest.New(t)
		h.SkipPauses = true
		return monitor.Monitor(t.Context(), h,
			monitor.Options{URL: r.URL, Log: trail.Options{Key: r.Key}, State: state, Reread: 1})
	}
	for _, state := range []string{"", state} {
		if m, err := run(state); err != nil {
			t.Fatalf("%v %+v", err, m)
		}
	}
	r.OnWire(func(path string, body []byte) []byte {
		if hosttest.IsLog(path) {
			return []byte(
				strings.NewReplacer(`"later":[2]`, `"later":[]`, `"later":[3]`, `"later":[]`).Replace(string(body)))
		}
		return body
	})
	for _, state := range []string{"", state} {
		m, err := run(state)
		hosttest.Finds(t, m, err, monitor.AnomalyWithheld, 2, "server io.github.acme/notes@1.1.0", "status")
		hosttest.Finds(t, m, err, monitor.AnomalyWithheld, 3, "server io.github.acme/notes@1.0.0", "finding")
	}
	got, err := hosttest.RecordSeen(t, hosttest.New(t), project.Registry{URL: r.URL, LogKey: r.Key}, "1.0.0",
		trail.Options{})
	if err != nil {
		t.Fatal(err)
	}
	warned := false
	for _, f := range policy.Judge(policy.Pin, policy.Settings{}, got.Report).Warnings() {
		warned = warned ||
			f.Evidence.Scheme == evidence.Finding && strings.Contains(f.Evidence.Reason, "names no entry of its log")
	}
	if !warned {
		t.Errorf("%+v", got.Report)
	}
}
