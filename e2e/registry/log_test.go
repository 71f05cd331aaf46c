package registry

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/e2e/built"
	"github.com/hallmark-mcp/hallmark/e2e/hang"
	"github.com/hallmark-mcp/hallmark/e2e/postgres"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	registryclient "github.com/hallmark-mcp/hallmark/internal/registry/client"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/serverjson"
)

// logCheck runs the independent checker on a registry, and returns the entries and what
// it said.
func logCheck(t testing.TB, base, key string, proofs ...string) (entries []string, err error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tlogcheck")
	built.Into(t, path, "e2e/tlogcheck")
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(path, append([]string{base, key}, proofs...)...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, stderr.String())
	}
	for lines := bufio.NewScanner(&stdout); lines.Scan(); {
		entries = append(entries, lines.Text())
	}
	return entries, nil
}

// covered waits until the checkpoint of r has so many entries. What another replica has
// signed last one learns when it publishes itself, or within a second.
func covered(t testing.TB, r *replica, trust ledger.Trust, size int64) {
	t.Helper()
	served := &registryclient.Client{Base: "http://" + r.addr}
	for end := time.Now().Add(hang.Long); ; time.Sleep(50 * time.Millisecond) {
		note, err := served.Checkpoint(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		s, err := trust.Open(note)
		switch {
		case err != nil:
			t.Fatal(err)
		case s.Size >= size:
			return
		case time.Now().After(end):
			t.Fatalf("the checkpoint of %s has %d entries, and %d were signed", r.addr, s.Size, size)
		}
	}
}

// The checker shares nothing with this module, save the module: it is built from the
// packages of others.
func TestCheckerIsIndependent(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "../tlogcheck").Output()
	if err != nil {
		t.Fatal(err)
	}
	const module = "github.com/hallmark-mcp/hallmark"
	for _, path := range strings.Fields(string(out)) {
		if strings.HasPrefix(path, module) && path != module+"/e2e/tlogcheck" {
			t.Errorf("imports %s", path)
		}
	}
}

// Sixty-four clients publish through two replicas on one PostgreSQL, of which one is
// killed again and again. There is one log, each publish that was acknowledged is in it
// once, and each answer proves it.
func TestOneLog(t *testing.T) {
	db, keyFile := postgres.ForTest(t), filepath.Join(t.TempDir(), "log.key")
	key, _, err := registry.OpenLogKey(t.Context(), keyFile, "log.example.com")
	if err != nil {
		t.Fatal(err)
	}
	flags := []string{"--db", db.URL("postgres"), "--log-key-file", keyFile, "--rate-writes", "0"}
	replicas := []*replica{startFirst(t, append(flags, "--data", t.TempDir())...),
		start(t, append(flags, "--data", t.TempDir())...)}
	trust, err := ledger.NewTrust(key.VerifierKey, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	type acknowledgement struct {
		subject string
		index   int64
		root    string
		size    int64
		proof   string
	}
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		acked []acknowledgement
		ended atomic.Bool
	)
	publish := func(r *replica, name string) (string, int) {
		doc := fmt.Sprintf(`{"$schema":%q,"name":%q,"version":"1.0.0","description":"a test"}`,
			serverjson.CurrentSchema, name)
		answer, err := client.Post("http://"+r.addr+"/v0/publish", "application/json", strings.NewReader(doc))
		if err != nil {
			return "", 0
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode != http.StatusOK && answer.StatusCode != http.StatusCreated {
			return "", answer.StatusCode
		}
		var env registry.Envelope
		if err := json.Unmarshal(body, &env); err != nil || env.Meta.Integrity == nil {
			t.Errorf("%s: %v", name, err)
			return "", 0
		}
		return env.Meta.Integrity.Proof, answer.StatusCode
	}
	for c := range 64 {
		wg.Go(func() {
			for n := 0; !ended.Load(); n++ {
				name := fmt.Sprintf("io.example.onelog/c%d-%d", c, n)
				for try := 0; !ended.Load(); try++ {
					text, status := publish(replicas[(c+n+try)%2], name)
					if status != http.StatusOK && status != http.StatusCreated {
						if status != 0 && status != http.StatusServiceUnavailable {
							t.Errorf("%s: status %d", name, status)
							return
						}
						time.Sleep(20 * time.Millisecond)
						continue
					}
					p, err := ledger.ParseProof([]byte(text))
					if err != nil {
						t.Errorf("%s: %v", name, err)
						return
					}
					proven, err := p.Verify(trust)
					if err != nil || proven.Leaf.Name != name {
						t.Errorf("%s: %v, the proof is of %s", name, err, proven.Leaf.Name)
						return
					}
					mu.Lock()
					acked = append(acked, acknowledgement{name, proven.Index, proven.Root.String(), proven.Size, text})
					mu.Unlock()
					break
				}
			}
		})
	}
	count := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(acked)
	}
	for i := range 4 {
		waitForMore(t, "publishes were acknowledged", count, 40+10*i)
		replicas[1].kill()
		waitForMore(t, "publishes were acknowledged by one replica", count, 10)
		replicas[1].run()
	}
	waitForMore(t, "publishes were acknowledged", count, 50)
	ended.Store(true)
	wg.Wait()
	if t.Failed() {
		return
	}
	if len(acked) < 200 {
		t.Errorf("%d publishes were acknowledged, which shows nothing", len(acked))
	}
	roots := map[int64]string{}
	indexes := map[int64]string{}
	for _, a := range acked {
		if other, ok := roots[a.size]; ok && other != a.root {
			t.Fatalf("two trees of %d entries were signed", a.size)
		}
		if other, ok := indexes[a.index]; ok {
			t.Fatalf("entry %d was proven for %s and %s", a.index, other, a.subject)
		}
		roots[a.size], indexes[a.index] = a.root, a.subject
	}
	dir := t.TempDir()
	var proofs []string
	for i, a := range acked[:min(100, len(acked))] {
		path := filepath.Join(dir, fmt.Sprint(i))
		if err := os.WriteFile(path, []byte(a.proof), 0o600); err != nil {
			t.Fatal(err)
		}
		proofs = append(proofs, path)
	}
	for _, r := range replicas {
		covered(t, r, trust, slices.Max(slices.Collect(maps.Keys(roots))))
		entries, err := logCheck(t, "http://"+r.addr, key.VerifierKey, proofs...)
		if err != nil {
			t.Fatal(err)
		}
		times := map[string]int{}
		for i, e := range entries {
			var leaf struct{ Name string }
			if err := json.Unmarshal([]byte(e), &leaf); err != nil {
				t.Fatal(err)
			}
			times[leaf.Name]++
			if subject, ok := indexes[int64(i)]; ok && subject != leaf.Name {
				t.Errorf("entry %d is %s, and was proven to be %s", i, leaf.Name, subject)
			}
		}
		for _, a := range acked {
			if times[a.subject] != 1 {
				t.Errorf("%s is in the log %d times", a.subject, times[a.subject])
			}
		}
	}
	if _, err := logCheck(t, "http://"+replicas[0].addr,
		strings.Replace(key.VerifierKey, "log.example.com", "log.example.org", 1)); err == nil {
		t.Error("the checker takes another key")
	}
}

// A witness that runs as a program cosigns what a registry that runs as a program signs;
// and a copy of the log's files is monitored without either.
func TestWitnessedLog(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "hallmark")
	built.Into(t, path, "cmd/hallmark")
	keyFile := filepath.Join(dir, "log.key")
	key, _, err := registry.OpenLogKey(t.Context(), keyFile, "log.example.com")
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	cmd := exec.Command(path, "log", "witness", "--listen", addr, "--key-file", filepath.Join(dir, "witness.key"),
		"--name", "witness.example.org",
		"--state", filepath.Join(dir, "witness"), "--log", key.VerifierKey)
	pipe, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { cmd.Process.Kill(); cmd.Wait() }()
	var witnessKey string
	for out, ok := bufio.NewReader(pipe), false; !ok; {
		line, err := out.ReadString('\n')
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		_, witnessKey, ok = strings.Cut(strings.TrimSpace(line), ", key ")
	}
	trust, err := ledger.NewTrust(key.VerifierKey, []string{witnessKey}, 1)
	if err != nil {
		t.Fatal(err)
	}
	r := startFirst(t, "--data", filepath.Join(dir, "data"), "--log-key-file", keyFile, "--rate-writes", "0",
		"--witness", witnessKey+"=http://"+addr)
	const records = 300
	for i := range records {
		if status := r.publish(fmt.Sprintf("io.example.witnessed/s%d", i), "1.0.0"); status != http.StatusOK &&
			status != http.StatusCreated {
			t.Fatalf("status %d", status)
		}
	}
	served := &registryclient.Client{Base: "http://" + r.addr}
	var note []byte
	for end := time.Now().Add(hang.Long); ; time.Sleep(50 * time.Millisecond) {
		note, err = served.Checkpoint(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		s, err := trust.Open(note)
		if err == nil && s.Size == records {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("not cosigned: %v\n%s", err, note)
		}
	}

	copied := filepath.Join(dir, "copy")
	put := func(name string, data []byte) {
		t.Helper()
		name = filepath.Join(copied, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("checkpoint", note)
	for level := ledger.Entries; level < 8; level++ {
		for n := int64(0); ; n++ {
			tile, ok := ledger.NewTile(level, n, records)
			if !ok {
				break
			}
			data, err := served.Tile(t.Context(), ledger.TilePath(tile))
			if err != nil {
				t.Fatal(err)
			}
			put(ledger.TilePath(tile), data)
		}
	}
	r.kill()
	monitor := func() (int, string) {
		out, err := exec.Command(path, "log", "monitor", "--from", copied, "--log-key",
			key.VerifierKey).CombinedOutput()
		if exit, ok := err.(*exec.ExitError); ok {
			return exit.ExitCode(), string(out)
		} else if err != nil {
			t.Fatal(err)
		}
		return 0, string(out)
	}
	if code, out := monitor(); code != 0 || !strings.Contains(out, "300 entries, 300 new") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	for _, name := range []string{"tile/entries/000", "tile/0/001.p/44", "tile/1/000.p/1", "checkpoint"} {
		file := filepath.Join(copied, filepath.FromSlash(name))
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		changed := bytes.Clone(data)
		changed[20] ^= 1
		put(name, changed)
		code, out := monitor()
		if code != 3 || name != "checkpoint" && !strings.Contains(out, strings.Replace(name, "entries", "0", 1)) {
			t.Errorf("%s: exit code %d\n%s", name, code, out)
		}
		put(name, data)
	}
}
