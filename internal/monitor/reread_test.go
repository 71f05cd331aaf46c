package monitor_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/hosttest"
	"github.com/hallmark-mcp/hallmark/internal/machine"
	"github.com/hallmark-mcp/hallmark/internal/monitor"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/ledger"
)

// Damage behind what was read last is found within the runs that were asked for: each file
// of a log changed, and each removed.
func TestMonitorReadsAgain(t *testing.T) {
	const runs = 2
	dir := t.TempDir()
	key := hosttest.WrittenLog(t, dir, 600)
	state := filepath.Join(t.TempDir(), "state")
	follow := func(h *host.Host, state string) (*monitor.Result, error) {
		return monitor.Monitor(t.Context(), h,
			monitor.Options{From: dir, Log: trail.Options{Key: key.VerifierKey}, State: state, Reread: runs})
	}
	if m, err := follow(hosttest.New(t), state); err != nil || !m.Began || m.Read != 600 || m.Again != 0 {
		t.Fatalf("%+v, %v", m, err)
	}
	again := int64(0)
	for range runs {
		m, err := follow(hosttest.New(t), state)
		if err != nil || m.Began || m.Read != 0 {
			t.Fatalf("%+v, %v", m, err)
		}
		again += m.Again
	}
	if again < 600 {
		t.Errorf("%d entries were read again in %d runs", again, runs)
	}
	kept, err := os.ReadFile(state)
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	if err := filepath.WalkDir(filepath.Join(dir, "tile"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, path)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if len(files) != 7 {
		t.Fatalf("%q", files)
	}
	for _, file := range files {
		was, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for name, damaged := range map[string][]byte{
			"changed": append(bytes.Clone(was[:len(was)-9]),
				append([]byte{was[len(was)-9] ^ 1}, was[len(was)-8:]...)...), "emptied": {}, "removed": nil} {
			if err := os.WriteFile(state, kept, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
			if damaged != nil {
				if err := os.WriteFile(file, damaged, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			h := hosttest.New(t)
			var found []monitor.Anomaly
			var last error
			for range runs + 1 {
				m, err := follow(h, state)
				if m != nil {
					found = m.Found
				}
				if err != nil {
					last = err
				}
			}
			want := evidence.Integrity
			if name == "removed" {
				want = evidence.Operation // of a copy; what is served is TestMonitorMissesWhatItRead's
			}
			if evidence.ClassOf(last) != want || (len(found) > 0) != (want == evidence.Integrity) {
				t.Errorf("%s %s: %v, %+v", file, name, last, found)
			}
			if text := fmt.Sprint(last, found); strings.Contains(text, "publisher") ||
				strings.Contains(text, "deleted") {
				t.Errorf("%s %s blames: %s", file, name, text)
			}
		}
		if err := os.WriteFile(file, was, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// What a registry served once and does not serve now is missed, and nobody is blamed for it;
// it is not kept as found, as it may come back.
func TestMonitorMissesWhatItRead(t *testing.T) {
	r := hosttest.NewLoggedRegistry(t, "")
	r.Publish("1.0.0", "1.1.0")
	h, state := hosttest.New(t), filepath.Join(t.TempDir(), "state")
	run := func() (*monitor.Result, error) {
		return monitor.Monitor(t.Context(), h,
			monitor.Options{URL: r.URL, Log: trail.Options{Key: r.Key}, State: state, Reread: 1})
	}
	if _, err := run(); err != nil {
		t.Fatal(err)
	}
	r.OnWire(func(path string, body []byte) []byte {
		if strings.HasPrefix(path, "/tile/entries/") {
			return bytes.Replace(body, []byte(`"publisher":"anonymous"`), []byte(`"publisher":"anonymouz"`), 1)
		}
		return body
	})
	m, err := run() // a member that the monitor does not remember of each entry
	if evidence.ClassOf(err) != evidence.Integrity || len(m.Found) != 1 || m.Found[0].What != monitor.AnomalyTile ||
		*m.Found[0].Index != 0 {
		t.Errorf("%v, %+v", err, m)
	}
	r.OnWire(func(path string, body []byte) []byte {
		if strings.HasPrefix(path, "/tile/entries/") {
			return bytes.Replace(body, []byte(`"document":"sha256:`), []byte(`"document":"sha256:0`), 1)[:len(body)]
		}
		return body
	})
	m, err = run()
	if evidence.ClassOf(err) != evidence.Integrity || len(m.Found) != 2 || m.Found[1].What != monitor.AnomalyEntry {
		t.Errorf("%v, %+v", err, m)
	}

	r.OnWire(nil)
	if err := os.Remove(state); err != nil {
		t.Fatal(err)
	}
	if _, err := run(); err != nil {
		t.Fatal(err)
	}
	served := *r.Handler.Load()
	var without http.Handler = http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if strings.HasPrefix(req.URL.Path, "/tile/entries/") {
			http.NotFound(w, req)
			return
		}
		served.ServeHTTP(w, req)
	})
	r.Handler.Store(&without)
	m, err = run()
	if evidence.ClassOf(err) != evidence.Integrity || !strings.Contains(err.Error(), "not served") || len(m.Found) > 0 {
		t.Errorf("without its entries: %v, %+v", err, m)
	}
	r.Handler.Store(&served)
	if m, err := run(); err != nil || m.Again != 2 {
		t.Errorf("when it is back: %v, %+v", err, m)
	}
}

// A state with anything taken out of it is malformed, and never one that is new.
func TestMonitorStateIsWhole(t *testing.T) {
	dir := t.TempDir()
	key := hosttest.WrittenLog(t, dir, 300)
	state := filepath.Join(t.TempDir(), "state")
	run := func(h *host.Host) (*monitor.Result, error) {
		return monitor.Monitor(t.Context(), h,
			monitor.Options{From: dir, Log: trail.Options{Key: key.VerifierKey}, State: state, Reread: 1})
	}
	h := hosttest.New(t)
	if _, err := run(h); err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile(state)
	if err != nil {
		t.Fatal(err)
	}
	line, parts, _ := bytes.Cut(kept, []byte("\n"))
	with := func(change func(map[string]any)) []byte {
		var w map[string]any
		d := json.NewDecoder(bytes.NewReader(line))
		d.UseNumber()
		if err := d.Decode(&w); err != nil {
			t.Fatal(err)
		}
		change(w)
		text, err := json.Marshal(w)
		if err != nil {
			t.Fatal(err)
		}
		return slices.Concat(text, []byte("\n"), parts)
	}
	old := with(func(w map[string]any) {
		delete(w, "reread_next")
		delete(w, "digest")
		w["monitor_version"] = 1
		w["found"] = nil
	})
	cases := map[string][]byte{"emptied": {}, "one line feed": []byte("\n"),
		"without its parts": append(bytes.Clone(line), '\n'), "no line": parts}
	for _, version := range []int{1, monitor.StateVersion} {
		for _, member := range (monitor.Wire{}).Members(version) {
			for what, change := range map[string]func(map[string]any){
				"removed": func(w map[string]any) { delete(w, member) },
				"emptied": func(w map[string]any) { w[member] = nil },
				"turned":  func(w map[string]any) { w[member] = map[string]any{} },
			} {
				if version == 1 && member == "found" && what == "emptied" {
					continue // as version 1 wrote it
				}
				cases[fmt.Sprintf("version %d, %s %s", version, member, what)] = with(func(w map[string]any) {
					if version == 1 {
						delete(w, "reread_next")
						delete(w, "digest")
						w["monitor_version"], w["found"] = 1, nil
					}
					change(w)
				})
			}
		}
	}
	for level := range 8 {
		cases[fmt.Sprintf("tiles of level %d removed", level)] = with(func(w map[string]any) {
			w["tiles"] = slices.Delete(slices.Clone(w["tiles"].([]any)), level, level+1)
		})
	}
	for at := 0; at < len(kept); at += 1 + len(kept)/60 {
		cases[fmt.Sprintf("cut at %d", at)] = kept[:at]
		changed := bytes.Clone(kept)
		changed[at] ^= 4
		cases[fmt.Sprintf("changed at %d", at)] = changed
	}
	for name, content := range cases {
		if err := os.WriteFile(state, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if m, err := run(h); evidence.ClassOf(err) != evidence.Validation {
			t.Errorf("%s: %v, %+v", name, err, m)
		}
		if now, err := os.ReadFile(state); err != nil || !bytes.Equal(now, content) {
			t.Errorf("%s: the file was replaced", name)
		}
	}
	// One of version 1 goes on, and is of this version afterwards.
	if err := os.WriteFile(state, old, 0o600); err != nil {
		t.Fatal(err)
	}
	if m, err := run(h); err != nil || m.Began || m.Read != 0 || m.Again != 300 {
		t.Errorf("version 1: %v, %+v", err, m)
	}
	if now, err := os.ReadFile(state); err != nil ||
		!bytes.HasPrefix(now, fmt.Appendf(nil, `{"monitor_version":%d,`, monitor.StateVersion)) {
		t.Errorf("%.40q, %v", now, err)
	}
	// Without the file everything is read again, which is said, and this machine holds the
	// log to what it was shown all the same.
	if err := os.Remove(state); err != nil {
		t.Fatal(err)
	}
	if m, err := run(h); err != nil || !m.Began || m.Read != 300 {
		t.Errorf("removed: %v, %+v", err, m)
	}
	other, err := ledger.Checkpoint{Origin: key.Name(), Size: 200}.Sign(key)
	if err != nil {
		t.Fatal(err)
	}
	if err := trail.ChangeLogs(t.Context(), h, func(l *machine.Logs) bool {
		l.Rely("registry.example.com", key.VerifierKey, time.Now(), string(other))
		return true
	}); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(state); err != nil {
		t.Fatal(err)
	}
	if m, err := run(h); evidence.ClassOf(err) != evidence.Integrity || len(m.Found) != 1 ||
		m.Found[0].What != monitor.AnomalyFork {
		t.Errorf("another log than this machine was shown: %v, %+v", err, m)
	}
}
