// Package registry tests the registry as processes, under load and faults: databases
// that restart, registries that are killed, replicas, and clients that are slow.
package registry

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/e2e/built"
	"github.com/hallmark-mcp/hallmark/e2e/hang"
	"github.com/hallmark-mcp/hallmark/e2e/postgres"
	"github.com/hallmark-mcp/hallmark/e2e/s3"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/serverjson"
)

// program is hallmark, built once.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "hallmark")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "hallmark")
	return path, built.Write(path, "cmd/hallmark-registry")
})

func TestMain(m *testing.M) {
	code := m.Run()
	if path, err := program(); err == nil {
		os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

// replica is one registry process.
type replica struct {
	t    testing.TB
	addr string
	argv []string
	cmd  *exec.Cmd
	log  bytes.Buffer
}

// start runs a registry with further flags on a port of its own.
func start(t testing.TB, flags ...string) *replica {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &replica{t: t, addr: l.Addr().String()}
	l.Close()
	r.argv = append([]string{path, "serve", "--addr", r.addr, "--validation", "off", "--allow-anonymous"}, flags...)
	r.run()
	t.Cleanup(func() {
		r.kill()
		if t.Failed() {
			t.Logf("log of %s:\n%s", r.addr, r.complaints())
		}
	})
	return r
}

// startFirst is start of the first replica with a key that is ready and has not signed. When
// it is run again the key is not new any more.
func startFirst(t testing.TB, flags ...string) *replica {
	t.Helper()
	r := start(t, slices.Concat(flags, []string{"--first-log"})...)
	r.argv = r.argv[:len(r.argv)-1]
	return r
}

// complaints are the last lines of the log that are not of what went well.
func (r *replica) complaints() string {
	lines := slices.DeleteFunc(strings.SplitAfter(r.log.String(), "\n"), func(line string) bool {
		return strings.Contains(line, " msg=published ")
	})
	for i, line := range lines {
		lines[i] = line[:min(len(line), 300)]
	}
	return strings.Join(lines[max(0, len(lines)-20):], "")
}

// reasons is a test that tells last, when its replicas have told what they have to, why it
// failed.
type reasons struct {
	*testing.T

	mu   sync.Mutex
	said []string
}

// aloud is t, of which the reasons are told last. It is asked for before anything is
// started.
func aloud(t *testing.T) *reasons {
	r := &reasons{T: t}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("failed, since\n%s", strings.Join(r.said[:min(len(r.said), 10)], "\n"))
		}
	})
	return r
}

func (r *reasons) note(reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.said = append(r.said, reason)
}

func (r *reasons) Error(args ...any) {
	r.Helper()
	r.note(fmt.Sprint(args...))
	r.T.Error(args...)
}

func (r *reasons) Errorf(format string, args ...any) {
	r.Helper()
	r.note(fmt.Sprintf(format, args...))
	r.T.Errorf(format, args...)
}

func (r *reasons) Fatal(args ...any) {
	r.Helper()
	r.note(fmt.Sprint(args...))
	r.T.Fatal(args...)
}

func (r *reasons) Fatalf(format string, args ...any) {
	r.Helper()
	r.note(fmt.Sprintf(format, args...))
	r.T.Fatalf(format, args...)
}

// run starts the process and waits until it answers.
func (r *replica) run() {
	r.t.Helper()
	r.cmd = exec.Command(r.argv[0], r.argv[1:]...)
	r.cmd.Stderr = &r.log
	r.cmd.Env = append(os.Environ(), s3.Environment()...)
	if err := r.cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	for end := time.Now().Add(hang.Long); ; time.Sleep(20 * time.Millisecond) {
		answer, err := http.Get("http://" + r.addr + "/v0/ping")
		if err == nil {
			answer.Body.Close()
			return
		}
		if time.Now().After(end) {
			r.t.Fatalf("no answer: %v\n%s", err, r.log.String())
		}
	}
}

// kill ends the process at once.
func (r *replica) kill() {
	r.cmd.Process.Kill()
	r.cmd.Wait()
}

// client gives up on an answer after a while.
var client = &http.Client{Timeout: hang.Long, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}

// publish sends a document and returns the status; 0 is no answer.
func (r *replica) publish(name, version string) int {
	doc := fmt.Sprintf(`{"$schema":%q,"name":%q,"version":%q,"description":"a test"}`, serverjson.CurrentSchema, name,
		version)
	answer, err := client.Post("http://"+r.addr+"/v0/publish", "application/json", strings.NewReader(doc))
	if err != nil {
		return 0
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		return 0
	}
	if answer.StatusCode == http.StatusServiceUnavailable && answer.Header.Get("Retry-After") == "" {
		r.t.Error("503 without Retry-After")
	}
	return answer.StatusCode
}

// list returns every record as "name version", which compare as the list is ordered,
// and those that are the latest.
func (r *replica) list() (all, latest []string) {
	r.t.Helper()
	for cursor := ""; ; {
		answer, err := client.Get("http://" + r.addr + "/v0/servers?limit=100&cursor=" + url.QueryEscape(cursor))
		if err != nil {
			r.t.Fatal(err)
		}
		var page struct {
			Servers []struct {
				Server struct{ Name, Version string }
				Meta   map[string]struct{ IsLatest bool } `json:"_meta"`
			}
			Metadata struct{ NextCursor string }
		}
		err = json.NewDecoder(answer.Body).Decode(&page)
		answer.Body.Close()
		if err != nil || answer.StatusCode != 200 {
			r.t.Fatalf("list: status %d, %v", answer.StatusCode, err)
		}
		for _, s := range page.Servers {
			all = append(all, s.Server.Name+" "+s.Server.Version)
			if s.Meta["io.modelcontextprotocol.registry/official"].IsLatest {
				latest = append(latest, s.Server.Name+" "+s.Server.Version)
			}
		}
		if cursor = page.Metadata.NextCursor; cursor == "" {
			return all, latest
		}
	}
}

// publishing is many clients that publish, and what was acknowledged to them.
type publishing struct {
	t     testing.TB
	wg    sync.WaitGroup
	ended atomic.Bool

	mu    sync.Mutex
	acked []string // "name version"
}

// publishers publish from many clients until they are stopped. Each tries again what it had
// no answer to, as clients do, so that what is answered 200 then may have been there.
func publishers(t testing.TB, prefix string, targets ...*replica) *publishing {
	p := &publishing{t: t}
	for c := range 8 {
		p.wg.Go(func() {
			for n := 0; !p.ended.Load(); n++ {
				name, version := fmt.Sprintf("io.example.%s/c%d-%d", prefix, c, n/4), fmt.Sprintf("1.0.%d", n%4)
				for try := 0; !p.ended.Load(); try++ {
					switch status := targets[(c+n+try)%len(targets)].publish(name, version); status {
					case http.StatusOK, http.StatusCreated:
						p.mu.Lock()
						p.acked = append(p.acked, name+" "+version)
						p.mu.Unlock()
					case 0, http.StatusServiceUnavailable, 499:
						time.Sleep(20 * time.Millisecond)
						continue
					default:
						t.Errorf("publish %s@%s: status %d", name, version, status)
					}
					break
				}
			}
		})
	}
	return p
}

func (p *publishing) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.acked)
}

// more waits until n more are acknowledged, however slow the machine is.
func (p *publishing) more(n int) {
	p.t.Helper()
	waitForMore(p.t, "publishes were acknowledged", p.count, n)
}

// waitForMore waits until count, of what is named, has grown by n.
func waitForMore(t testing.TB, what string, count func() int, n int) {
	t.Helper()
	began := count()
	hang.Until(t, fmt.Sprintf("%d more %s", n, what), func() bool { return count() >= began+n })
}

// stop ends the publishing and returns what was acknowledged.
func (p *publishing) stop() []string {
	p.ended.Store(true)
	p.wg.Wait()
	slices.Sort(p.acked)
	return p.acked
}

// complete demands that all of acked are in what r lists, in order, each once, with
// one latest version for each name.
func complete(t testing.TB, r *replica, acked []string) {
	t.Helper()
	all, latest := r.list()
	if len(acked) == 0 {
		t.Error("nothing was acknowledged, which shows nothing")
	}
	if !slices.IsSorted(all) || len(slices.Compact(slices.Clone(all))) != len(all) {
		t.Error("the list is out of order or has a record twice")
	}
	for _, subject := range acked {
		if _, ok := slices.BinarySearch(all, subject); !ok {
			t.Errorf("%s was acknowledged and is lost", subject)
		}
	}
	names := map[string]int{}
	for _, subject := range all {
		name, _, _ := strings.Cut(subject, " ")
		names[name] = 0
	}
	for _, subject := range latest {
		name, _, _ := strings.Cut(subject, " ")
		names[name]++
	}
	for name, n := range names {
		if n != 1 {
			t.Errorf("%s has %d latest versions", name, n)
		}
	}
}

// reading is clients that list and get.
type reading struct {
	t          testing.TB
	wg         sync.WaitGroup
	ended      atomic.Bool
	good, away atomic.Int64
}

// readers read until they are stopped. Any answer but 200 and a 503 with Retry-After is an
// error.
func readers(t testing.TB, targets ...*replica) *reading {
	r := &reading{t: t}
	for c := range 4 {
		r.wg.Go(func() {
			for n := 0; !r.ended.Load(); n++ {
				path := []string{"/v0/servers?limit=10", "/v0/servers?search=example&limit=5",
					"/v0/servers?version=latest", "/v0/health"}[n%4]
				answer, err := client.Get("http://" + targets[(c+n)%len(targets)].addr + path)
				if err != nil {
					t.Errorf("%s: %v", path, err)
					return
				}
				_, err = io.Copy(io.Discard, answer.Body)
				answer.Body.Close()
				switch {
				case err != nil:
					t.Errorf("%s: %v", path, err)
				case answer.StatusCode == 200:
					r.good.Add(1)
				case answer.StatusCode == 503 && answer.Header.Get("Retry-After") != "":
					r.away.Add(1)
					time.Sleep(10 * time.Millisecond)
				default:
					t.Errorf("%s: status %d, headers %v", path, answer.StatusCode, answer.Header)
				}
			}
		})
	}
	return r
}

// turnedAway waits until readers are told to come back later, a few times more.
func (r *reading) turnedAway() {
	r.t.Helper()
	waitForMore(r.t, "reads were turned away", func() int { return int(r.away.Load()) }, 4)
}

// stop ends the reading and returns how many answers were good, and how many a 503.
func (r *reading) stop() (good, away int) {
	r.ended.Store(true)
	r.wg.Wait()
	return int(r.good.Load()), int(r.away.Load())
}

// PostgreSQL is stopped, started, killed and started under load. What was acknowledged
// is there, readers are told to come back, and nobody has to help.
func TestPostgresRestarts(t *testing.T) {
	db := postgres.ForTest(t)
	r := start(t, "--data", t.TempDir(), "--db", db.URL("postgres"))
	publishing, reading := publishers(t, "restart", r), readers(t, r)
	for _, end := range []func() error{db.Stop, db.Kill} {
		publishing.more(50)
		if err := end(); err != nil {
			t.Fatal(err)
		}
		reading.turnedAway()
		if err := db.Start(); err != nil {
			t.Fatal(err)
		}
	}
	publishing.more(50)
	acked := publishing.stop()
	good, away := reading.stop()
	if good < 50 || away == 0 {
		t.Errorf("%d good answers and %d times away", good, away)
	}
	complete(t, r, acked)
}

// A registry that is killed again and again, HALLMARK_KILLS times if that is set, has kept
// what it acknowledged (R1).
func TestKilledRegistry(t *testing.T) {
	kills := 8
	if text := os.Getenv("HALLMARK_KILLS"); text != "" {
		var err error
		if kills, err = strconv.Atoi(text); err != nil || kills < 1 {
			t.Fatalf("HALLMARK_KILLS is %q", text)
		}
	}
	for name, flags := range map[string]func(*testing.T) []string{
		"sqlite": func(t *testing.T) []string { return nil },
		"postgres": func(t *testing.T) []string {
			return []string{"--db", postgres.ForTest(t).URL("postgres")}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, append(flags(t), "--data", t.TempDir())...)
			publishing := publishers(t, "kill", r)
			for range kills {
				publishing.more(10 + rand.N(20)) // and then in the midst of others
				r.kill()
				r.run()
			}
			publishing.more(50)
			complete(t, r, publishing.stop())
		})
	}
}

// Two replicas on one database and one bucket, with nothing said but where these are,
// answer as one; either may go.
func TestReplicas(t *testing.T) {
	db, bucket := postgres.ForTest(t), s3.ForTest(t)
	keyFile := filepath.Join(t.TempDir(), "log.key")
	if _, _, err := registry.OpenLogKey(t.Context(), keyFile, "log.example.com"); err != nil {
		t.Fatal(err)
	}
	flags := []string{"--db", db.URL("postgres"), "--blobs", bucket.URL("archives")}
	keyed := append(flags, "--log-key-file", keyFile)
	a, b := startFirst(t, append(keyed, "--data", t.TempDir())...), start(t, append(keyed, "--data", t.TempDir())...)
	refusesOtherKey(t, flags)
	publishing, reading := publishers(t, "both", a, b), readers(t, b)

	// What one has acknowledged the other answers at once.
	for i := range 50 {
		name := fmt.Sprintf("io.example.seen/s%d", i)
		if status := a.publish(name, "1.0.0"); status != 200 && status != 201 {
			t.Fatalf("publish: %d", status)
		}
		answer, err := client.Get("http://" + b.addr + "/v0/servers/" + url.PathEscape(name) + "/versions/latest")
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != 200 {
			t.Fatalf("%s is not there: %d", name, answer.StatusCode)
		}
	}
	// Both are sent the same version: one record, and no error.
	for i := range 30 {
		name := fmt.Sprintf("io.example.race/s%d", i)
		var wg sync.WaitGroup
		for _, r := range []*replica{a, b} {
			wg.Go(func() {
				if status := r.publish(name, "1.0.0"); status != 200 && status != 201 {
					t.Errorf("publish to %s: %d", r.addr, status)
				}
			})
		}
		wg.Wait()
	}
	a.kill()
	publishing.more(20) // which b alone acknowledges
	a.run()
	publishing.more(50)
	acked := publishing.stop()
	if good, away := reading.stop(); away > 0 || good == 0 {
		t.Errorf("%d good answers; %d times away, though the database was there", good, away)
	}
	complete(t, a, acked)
	complete(t, b, acked)

	// Health tells of the bucket.
	if err := bucket.Stop(); err != nil {
		t.Fatal(err)
	}
	answer, err := client.Get("http://" + a.addr + "/v0/health")
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != 503 || answer.Header.Get("Retry-After") == "" {
		t.Errorf("without a bucket health is %d", answer.StatusCode)
	}
}

// refusesOtherKey starts a replica that makes a key of its own: it says what is wrong
// instead of answering 503.
func refusesOtherKey(t *testing.T, flags []string) {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	argv := append([]string{"serve", "--addr", "127.0.0.1:0", "--data", t.TempDir()}, flags...)
	cmd := exec.CommandContext(t.Context(), path, argv...)
	cmd.Env = append(os.Environ(), s3.Environment()...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 2 ||
		!strings.Contains(string(out), "the log is signed with another key, that of \"log.example.com\"") ||
		!strings.Contains(string(out), "--log-key-file") {
		t.Errorf("a replica with another key: %v\n%s", err, out)
	}
}
