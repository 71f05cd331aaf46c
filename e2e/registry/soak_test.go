package registry

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/e2e/postgres"
	"github.com/hallmark-mcp/hallmark/e2e/s3"
	"github.com/hallmark-mcp/hallmark/internal/archive"
	"github.com/hallmark-mcp/hallmark/internal/facet"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/serverjson"
	"github.com/hallmark-mcp/hallmark/tree"
)

// Two replicas on one PostgreSQL and one bucket get a mixed load at 70% of what they do
// at most: every answer is good, nothing is there twice, and there is one log. SOAK is
// how long: make soak takes 10 minutes, a test 6 seconds.
func TestSoak(tt *testing.T) {
	t := aloud(tt)
	long := 6 * time.Second
	if text := os.Getenv("SOAK"); text != "" {
		var err error
		if long, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	db, bucket := postgres.ForTest(t), s3.ForTest(t)
	keyFile := filepath.Join(t.TempDir(), "log.key")
	key, _, err := registry.OpenLogKey(t.Context(), keyFile, "log.example.com")
	if err != nil {
		t.Fatal(err)
	}
	trust, err := ledger.NewTrust(key.VerifierKey, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	flags := []string{"--db", db.URL("postgres"), "--blobs", bucket.URL("soak"), "--log-key-file", keyFile,
		"--rate-writes", "0"}
	l := &load{t: t, trust: trust,
		replicas: []*replica{startFirst(t, slices.Concat(flags, []string{"--data", t.TempDir()})...),
			start(t, slices.Concat(flags, []string{"--data", t.TempDir()})...)}}
	for range 20 { // so that there is something to read
		l.publish(t.Context(), l.replicas[0])
	}
	l.upload(t.Context(), l.replicas[0])

	// At most: as many as 16 clients get, who wait for their answers.
	full := long / 5
	most := float64(l.run(full, 0)) / full.Seconds()
	rate := 0.7 * most
	began := time.Now()
	sent := l.run(long-full, rate)
	t.Logf("%.0f requests a second at most; then %d in %s, %.0f a second", most, sent,
		time.Since(began).Round(time.Second), float64(sent)/time.Since(began).Seconds())
	l.latencies()
	if t.Failed() {
		return
	}
	l.verify(key.VerifierKey)
}

// load is what clients do to replicas, and what they were answered.
type load struct {
	t        *reasons
	trust    ledger.Trust
	replicas []*replica
	next     atomic.Int64 // number of the next record or archive

	mu       sync.Mutex
	records  []string // "name version", acknowledged
	archives []anArchive
	indexes  map[int64]string // subjects by the index of their proven entry
	roots    map[int64]string // by size
	proofs   []string
	took     map[string][]time.Duration
}

type anArchive struct {
	name   string
	digest digest.Digest
}

// mix is how often of a hundred requests each is sent.
var mix = []struct {
	name  string
	share int
	do    func(*load, context.Context, *replica)
}{
	{"list", 25, func(l *load, ctx context.Context, r *replica) { l.get(ctx, r, "/v0/servers?limit=30") }},
	{"search", 10,
		func(l *load, ctx context.Context, r *replica) { l.get(ctx, r, "/v0/servers?limit=30&search=soak/s1") }},
	{"get", 25, func(l *load, ctx context.Context, r *replica) { l.get(ctx, r, "/v0/servers/"+l.record()) }},
	{"proof", 5, func(l *load, ctx context.Context, r *replica) { l.get(ctx, r, "/v0/servers/"+l.record()+"/proof") }},
	{"checkpoint", 5, (*load).checkpoint},
	{"facets", 5, func(l *load, ctx context.Context, r *replica) { l.get(ctx, r, "/v0/facets?limit=30") }},
	{"health", 2, func(l *load, ctx context.Context, r *replica) { l.get(ctx, r, "/v0/health") }},
	{"publish", 15, (*load).publish},
	{"upload", 3, (*load).upload},
	{"download", 5, (*load).download},
}

// run sends the mix to both replicas for a while, at a rate of so many a second, or as
// fast as they answer if that is 0, and returns how many were sent.
func (l *load) run(long time.Duration, rate float64) (sent int64) {
	ctx := l.t.Context()
	end := time.Now().Add(long)
	var wg sync.WaitGroup
	var n atomic.Int64
	work := func() {
		i, r := rand.IntN(100), l.replicas[rand.IntN(len(l.replicas))]
		for _, m := range mix {
			if i -= m.share; i < 0 {
				began := time.Now()
				m.do(l, ctx, r)
				l.mu.Lock()
				l.took[m.name] = append(l.took[m.name], time.Since(began))
				l.mu.Unlock()
				break
			}
		}
		n.Add(1)
	}
	l.reset()
	if rate == 0 {
		for range 16 {
			wg.Go(func() {
				for time.Now().Before(end) && !l.t.Failed() {
					work()
				}
			})
		}
		wg.Wait()
		return n.Load()
	}
	began := time.Now()
	atOnce := make(chan struct{}, 64) // where the machine has become slower since, it is not flooded
	for i := 0; ; i++ {               // whether or not they were answered: so do clients that do not know of each other
		at := began.Add(time.Duration(float64(i) / rate * float64(time.Second)))
		if at.After(end) || l.t.Failed() {
			break
		}
		time.Sleep(time.Until(at))
		atOnce <- struct{}{}
		wg.Go(func() { work(); <-atOnce })
	}
	wg.Wait()
	return n.Load()
}

func (l *load) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.took = map[string][]time.Duration{}
}

// record is the path of one that was acknowledged.
func (l *load) record() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	name, version, _ := strings.Cut(l.records[rand.IntN(len(l.records))], " ")
	return url.PathEscape(name) + "/versions/" + version
}

// do sends a request, which has to be answered with 200 or 201.
func (l *load) do(ctx context.Context, r *replica, method, path, kind string, body []byte) []byte {
	req, err := http.NewRequestWithContext(ctx, method, "http://"+r.addr+path, bytes.NewReader(body))
	if err != nil {
		l.t.Error(err)
		return nil
	}
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	answer, err := client.Do(req)
	if err != nil {
		l.t.Error(err)
		return nil
	}
	defer answer.Body.Close()
	got, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK && answer.StatusCode != http.StatusCreated {
		l.t.Errorf("%s %s: status %d, %v: %.300s", method, path, answer.StatusCode, err, got)
		return nil
	}
	return got
}

func (l *load) get(ctx context.Context, r *replica, path string) []byte {
	return l.do(ctx, r, http.MethodGet, path, "", nil)
}

// publish publishes a record: of four versions of a name each.
func (l *load) publish(ctx context.Context, r *replica) {
	i := l.next.Add(1)
	name, version := fmt.Sprintf("io.example.soak/s%d", i/4), fmt.Sprintf("1.0.%d", i%4)
	doc := fmt.Appendf(nil, `{"$schema":%q,"name":%q,"version":%q,"description":"a test"}`, serverjson.CurrentSchema,
		name, version)
	answer := l.do(ctx, r, http.MethodPost, "/v0/publish", "application/json", doc)
	if answer == nil {
		return
	}
	var env registry.Envelope
	if err := json.Unmarshal(answer, &env); err != nil || env.Meta.Integrity == nil {
		l.t.Errorf("%s: %v", name, err)
		return
	}
	if l.proven(name+"@"+version, env.Meta.Integrity.Proof) {
		l.mu.Lock()
		l.records = append(l.records, name+" "+version)
		l.mu.Unlock()
	}
}

// upload publishes a small facet.
func (l *load) upload(ctx context.Context, r *replica) {
	name := fmt.Sprintf("soak-%d", l.next.Add(1))
	files := map[string]string{
		"facet.json": fmt.Sprintf(`{"name":%q,"version":"1.0.0","skills":{"notes":{"description":"Notes"}}}`,
			name),
		"skills/notes/SKILL.md": strings.Repeat(name+"\n", 200),
	}
	var list []tree.File
	for path, text := range files {
		list = append(list, tree.File{Path: path, Size: int64(len(text))})
	}
	var packed bytes.Buffer
	_, err := facet.Pack(ctx, &packed, list, func(path string) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(files[path])), nil
	}, archive.Limits{})
	if err != nil {
		l.t.Error(err)
		return
	}
	answer := l.do(ctx, r, http.MethodPost, "/v0/facets/"+name+"/versions", "application/octet-stream", packed.Bytes())
	if answer == nil {
		return
	}
	var rec struct {
		ContentHash digest.Digest `json:"content_hash"`
		Proof       string        `json:"proof"`
	}
	if err := json.Unmarshal(answer, &rec); err != nil ||
		rec.ContentHash.String() != digest.FromBytes(packed.Bytes()).String() {
		l.t.Errorf("%s: %v, %s", name, err, answer)
		return
	}
	if l.proven(name+"@1.0.0", rec.Proof) {
		l.mu.Lock()
		l.archives = append(l.archives, anArchive{name, rec.ContentHash})
		l.mu.Unlock()
	}
}

// download demands the bytes of an archive, whichever replica took it.
func (l *load) download(ctx context.Context, r *replica) {
	l.mu.Lock()
	a := l.archives[rand.IntN(len(l.archives))]
	l.mu.Unlock()
	got := l.get(ctx, r, "/v0/facets/"+a.name+"/versions/1.0.0/archive")
	if got != nil && digest.FromBytes(got).String() != a.digest.String() {
		l.t.Errorf("%s: %d other bytes", a.name, len(got))
	}
}

func (l *load) checkpoint(ctx context.Context, r *replica) {
	if note := l.get(ctx, r, "/checkpoint"); note != nil {
		s, err := l.trust.Open(note)
		if err != nil {
			l.t.Error(err)
			return
		}
		l.signed(s.Size, s.Root.String())
	}
}

// signed notes the root of a signed tree: all of one size have one.
func (l *load) signed(size int64, root string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.roots == nil {
		l.roots = map[int64]string{}
	}
	if other, ok := l.roots[size]; ok && other != root {
		l.t.Errorf("two trees of %d entries were signed", size)
	}
	l.roots[size] = root
}

// proven verifies the proof that came with an acknowledgement.
func (l *load) proven(subject, text string) bool {
	p, err := ledger.ParseProof([]byte(text))
	if err != nil {
		l.t.Errorf("%s: %v", subject, err)
		return false
	}
	proven, err := p.Verify(l.trust)
	if err != nil || proven.Leaf.Name+"@"+proven.Leaf.Version != subject {
		l.t.Errorf("%s: %v, the proof is of %s", subject, err, proven.Leaf.Subject())
		return false
	}
	l.signed(proven.Size, proven.Root.String())
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.indexes == nil {
		l.indexes = map[int64]string{}
	}
	if other, ok := l.indexes[proven.Index]; ok {
		l.t.Errorf("entry %d was proven for %s and %s", proven.Index, other, subject)
	}
	l.indexes[proven.Index] = subject
	l.proofs = append(l.proofs, text)
	return true
}

// latencies tells how long the requests took.
func (l *load) latencies() {
	for _, m := range mix {
		took := l.took[m.name]
		if len(took) == 0 {
			continue
		}
		slices.Sort(took)
		l.t.Logf("%-10s %7d  p50 %8s  p99 %8s  most %8s", m.name, len(took),
			took[len(took)/2].Round(10*time.Microsecond),
			took[len(took)*99/100].Round(10*time.Microsecond), took[len(took)-1].Round(10*time.Microsecond))
	}
}

// verify reads the list and the log of each replica: every acknowledged record is there
// once, at the entry that was proven.
func (l *load) verify(key string) {
	t := l.t
	slices.Sort(l.records)
	dir := t.TempDir()
	var proofs []string
	for i, text := range l.proofs[:min(100, len(l.proofs))] {
		path := filepath.Join(dir, fmt.Sprint(i))
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		proofs = append(proofs, path)
	}
	for _, r := range l.replicas {
		covered(t, r, l.trust, slices.Max(slices.Collect(maps.Keys(l.roots))))
		complete(t, r, l.records)
		entries, err := logCheck(t, "http://"+r.addr, key, proofs...)
		if err != nil {
			t.Fatal(err)
		}
		if len(entries) != len(l.indexes) {
			t.Errorf("%d entries, of which %d were acknowledged", len(entries), len(l.indexes))
		}
		seen := map[string]bool{}
		for i, text := range entries {
			leaf, err := ledger.ParseLeaf([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			subject := leaf.Name + "@" + leaf.Version
			if seen[subject] || subject != l.indexes[int64(i)] {
				t.Errorf("entry %d is %s, and was proven to be %s", i, subject, l.indexes[int64(i)])
			}
			seen[subject] = true
		}
	}
}
