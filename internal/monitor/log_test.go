package monitor_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/hosttest"
	"github.com/hallmark-mcp/hallmark/internal/monitor"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/ledger"
)

func TestHonestLog(t *testing.T) {
	if testing.Short() {
		t.Skip("reads as TestMonitorFindsForks does")
	}
	r := hosttest.NewLoggedRegistry(t, "")
	path := filepath.Join(t.TempDir(), "state")
	for i := range 3 {
		for j := range 100 {
			r.Publish(fmt.Sprintf("1.%d.%d", i, j))
		}
		m, err := hosttest.Monitored(t, r, path)
		if err != nil || m.Size != int64(100*(i+1)) || m.Read != 100 || m.Records != m.Size || len(m.Found) != 0 {
			t.Fatalf("%v %+v", err, m)
		}
	}
	if m, err := hosttest.Monitored(t, r, ""); err != nil || m.Read != 300 {
		t.Fatalf("%v %+v", err, m)
	}
	// a state that was damaged is not read as an empty one
	data, _ := os.ReadFile(path)
	line := bytes.IndexByte(data, '\n')
	for _, damaged := range [][]byte{nil, data[:line/2], data[:line], data[:line+1], data[:len(data)/2],
		data[:len(data)-1], append(bytes.Clone(data), 0)} {
		os.WriteFile(path, damaged, 0o600)
		_, err := hosttest.Monitored(t, r, path)
		hosttest.RefusedWith(t, err, evidence.Validation, path)
	}
}

// Somebody changes, drops, repeats or hides what the log has, in the database.
func TestLeafRewritten(t *testing.T) {
	r := hosttest.NewLoggedRegistry(t, "")
	r.Publish("1.0.0", "1.1.0", "1.2.0")
	r.Change(func(db *sql.DB) {
		hosttest.Exec(t, db, "UPDATE log_entries SET leaf = replace(leaf, 'anonymous', 'somebody!') WHERE idx = 1")
	})
	m, err := hosttest.Monitored(t, r, "")
	hosttest.Finds(t, m, err, monitor.AnomalyTile, 1, "tile/0/000.p/3")
	hosttest.Finds(t, m, err, monitor.AnomalyRoot, -1, "3 entries")
}

func TestRecordDroppedAndHidden(t *testing.T) {
	r := hosttest.NewLoggedRegistry(t, "")
	r.Publish("1.0.0", "1.1.0", "1.2.0")
	r.Change(func(db *sql.DB) {
		hosttest.Exec(t, db, "DELETE FROM servers WHERE version = '1.1.0'")
		hosttest.Exec(t, db, "UPDATE servers SET version = '6.6.6' WHERE version = '1.2.0'")
	})
	m, err := hosttest.Monitored(t, r, "")
	hosttest.Finds(t, m, err, monitor.AnomalyMissing, 1, "io.github.acme/notes@1.1.0",
		hosttest.DigestOf(t, hosttest.NotesDocument("1.1.0", "Notes")))
}

// A status that the registry keeps back from the list is one that differs.
func TestStatusKeptBack(t *testing.T) {
	r := hosttest.NewLoggedRegistry(t, "")
	r.Publish("1.0.0", "1.1.0")
	for from, to := range map[string]string{`"status":"active"`: `"was":"active"`,
		`"status":"active",`: `"status":"deleted",`} {
		r.OnWire(func(path string, body []byte) []byte {
			if strings.HasSuffix(path, "/servers") {
				body = bytes.Replace(body, []byte(from), []byte(to), 1)
			}
			return body
		})
		m, err := hosttest.Monitored(t, r, "")
		hosttest.Finds(t, m, err, monitor.AnomalyStatus, 0, "io.github.acme/notes@1.0.0", "active")
	}
}

// A monitor finds a fork at the same size, and one that it is shown for the first time on a
// machine that was shown another log.
func TestMonitorFindsForks(t *testing.T) {
	one := hosttest.NewLoggedRegistry(t, "")
	two := hosttest.NewLoggedRegistry(t, one.KeyFile)
	one.Publish("1.0.0", "1.1.0")
	two.Publish("1.0.0", "1.2.0")
	front := hosttest.NewLoggedRegistry(t, one.KeyFile)
	show := func(r *hosttest.LoggedRegistry) { front.Handler.Store(r.Handler.Load()) }
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
	hosttest.Finds(t, m, err, monitor.AnomalyFork, -1, "2 entries")
	hosttest.Finds(t, m, err, monitor.AnomalyFork, 1, "io.github.acme/notes@1.2.0")
	m, err = follow(h, "") // by what the machine was shown
	hosttest.Finds(t, m, err, monitor.AnomalyFork, -1, "SECURITY ERROR", "this machine was shown")
	// what was found stays found, and the state is that of one log
	show(one)
	if m, err = follow(hosttest.New(t), path); evidence.ClassOf(err) != evidence.Integrity || m.Size != 2 {
		t.Errorf("%v %+v", err, m)
	}
	_, other, _ := ledger.GenerateKey(bytes.NewReader(make([]byte, 64)), "log.example.com")
	_, err = monitor.Monitor(t.Context(), hosttest.New(t),
		monitor.Options{URL: front.URL, Log: trail.Options{Key: other}, State: path})
	hosttest.RefusedWith(t, err, evidence.Validation, "another key")
}

// A list without an end does not keep a monitor for ever, whatever its cursors are.
func TestMonitorEndlessList(t *testing.T) {
	if testing.Short() {
		t.Skip("reads as TestMonitorFindsForks does")
	}
	r := hosttest.NewLoggedRegistry(t, "")
	for i := range 100 {
		r.Publish(fmt.Sprintf("1.0.%d", i))
	}
	first := *r.Handler.Load()
	again := http.Handler(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if strings.HasSuffix(req.URL.Path, "/servers") {
			req.URL.RawQuery = "limit=100"
		}
		first.ServeHTTP(w, req)
	}))
	r.Handler.Store(&again)
	for _, cursor := range []string{"same", "%d"} {
		n := 0
		r.OnWire(func(path string, body []byte) []byte {
			if n++; strings.HasSuffix(path, "/servers") {
				next := strings.Replace(cursor, "%d", fmt.Sprint(n), 1)
				body = bytes.Replace(body, []byte(`"count":100`), fmt.Appendf(nil, `"count":100,"nextCursor":%q`, next),
					1)
			}
			return body
		})
		_, err := hosttest.Monitored(t, r, "")
		hosttest.RefusedWith(t, err, evidence.Operation, "does not end")
	}
}
