package api_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/api"
	"github.com/hallmark-mcp/hallmark/internal/registry/log"
	"github.com/hallmark-mcp/hallmark/internal/registry/registrytest"
	"github.com/hallmark-mcp/hallmark/internal/registry/servertest"
	"github.com/hallmark-mcp/hallmark/internal/registry/sqlite"
	"github.com/hallmark-mcp/hallmark/ledger"
)

func TestPublishAnswersWithAProof(t *testing.T) {
	ctx := context.Background()
	f, l := servertest.ServeLog(t, nil)
	for i := range 3 {
		for range 2 { // the second time it is there
			env, err := f.Publish(ctx, registrytest.Document("io.github.acme/notes", fmt.Sprintf("1.0.%d", i)), "")
			if err != nil {
				t.Fatal(err)
			}
			rec, err := f.Config.Records.Get(ctx, "io.github.acme/notes", fmt.Sprintf("1.0.%d", i))
			if err != nil {
				t.Fatal(err)
			}
			if got := l.Proven(t, []byte(env.Meta.Integrity.Proof), rec); got.Index != int64(i) ||
				got.Leaf.Publisher != "anonymous" {
				t.Errorf("%+v", got)
			}
			proof, err := f.Proof(ctx, rec.Name, rec.Version)
			if err != nil {
				t.Fatal(err)
			}
			l.Proven(t, proof, rec)
			if latest, err := f.Proof(ctx, rec.Name, registry.Latest); err != nil || !bytes.Equal(latest, proof) {
				t.Errorf("latest: %s, %v", latest, err)
			}
		}
	}
	if env, err := f.Get(ctx, "io.github.acme/notes", registry.Latest); err != nil || env.Meta.Integrity.Proof != "" {
		t.Errorf("a record that is read has a proof: %v", err)
	}
	for _, absent := range [][2]string{{"io.github.acme/notes", "2.0.0"}, {"io.github.acme/none", registry.Latest}} {
		var p *registry.Problem
		if _, err := f.Proof(ctx, absent[0], absent[1]); !errors.As(err, &p) || p.Status != http.StatusNotFound {
			t.Errorf("proof of %s: %v", absent, err)
		}
	}
}

func TestLogIsServed(t *testing.T) {
	ctx := context.Background()
	f, l := servertest.ServeLog(t, nil)
	db := f.Config.Records.(*sqlite.DB)
	records := registrytest.Fill(t, db, 0, 300)
	if _, err := l.Covering(ctx, 299); err != nil {
		t.Fatal(err)
	}
	note, err := f.Checkpoint(ctx)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := l.Trust.Open(note)
	if err != nil || signed.Size != 300 {
		t.Fatalf("%+v, %v", signed, err)
	}
	reader := &ledger.Reader{At: signed.Checkpoint,
		Fetch: func(path string) ([]byte, error) { return f.Tile(ctx, path) }}
	var replay ledger.Replay
	for n := range int64(2) {
		leaves, err := reader.Bundle(n)
		if err != nil {
			t.Fatal(err)
		}
		for _, leaf := range leaves {
			got, fault := replay.Add(leaf)
			if fault != nil || got.Version != records[replay.Size()-1].Version {
				t.Fatalf("entry %d is %s, %v", replay.Size()-1, got.Subject(), fault)
			}
		}
	}
	if err := replay.Check(signed.Checkpoint); err != nil {
		t.Error(err)
	}
	for path, want := range map[string]int{
		"/tile/0/000": 200, "/tile/0/001.p/44": 200, "/tile/0/001.p/7": 200, "/tile/1/000.p/1": 200,
		"/tile/entries/001.p/44": 200,
		"/tile/0/001":            404, "/tile/0/001.p/45": 404, "/tile/0/002.p/1": 404, "/tile/1/000.p/2": 404,
		"/tile/2/000.p/1":        404,
		"/tile/entries/001.p/45": 404, "/tile/entries/002": 404, "/tile/0/0": 404, "/tile/data/000": 404,
		"/tile/8/0/000":     404,
		"/tile/0/%30%30%30": 404, "/tile/0/x000/000": 404, "/tile/0/000.p/0": 404, "/tile/0/000.p/256": 404,
		"/tile/": 308, "/tile": 307,
	} {
		client := &http.Client{
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		res, err := client.Get(f.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("%s: %d, want %d", path, res.StatusCode, want)
		}
		if cache := res.Header.Get("Cache-Control"); (want == 200) != strings.Contains(cache, "immutable") {
			t.Errorf("%s: %q", path, cache)
		}
	}
	res, err := http.Get(f.URL + "/checkpoint")
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if got := res.Header.Get("Content-Type"); got != "text/plain; charset=utf-8" {
		t.Errorf("checkpoint is %q", got)
	}
}

// A publish that gets no proof is not acknowledged, and the same one does later.
func TestPublishWithoutAProofIsNotAcknowledged(t *testing.T) {
	ctx := context.Background()
	heads := &servertest.FaultyHeads{Heads: log.FileHeads{Path: filepath.Join(t.TempDir(), "head")}}
	f := servertest.Serve(t, evidence.Report{}, func(c *api.Config) {
		var err error
		if c.Log, err = servertest.OpenFirstLog(c.Records.(*sqlite.DB), heads, servertest.NewLogKey(t)); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Log.Close)
	})
	set := func(err error) {
		heads.Mu.Lock()
		heads.Fault = err
		heads.Mu.Unlock()
	}
	set(registry.ErrUnavailable)
	short, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if env, err := f.Publish(short, registrytest.Document("io.github.acme/notes", "1.0.0"), ""); err == nil {
		t.Errorf("acknowledged: %+v", env)
	}
	var p *registry.Problem
	if _, err := f.GitHubClient(ctx); !errors.As(err, &p) || p.Status != http.StatusServiceUnavailable {
		t.Errorf("health: %v", err)
	}
	set(nil)
	env, err := f.Publish(ctx, registrytest.Document("io.github.acme/notes", "1.0.0"), "")
	if err != nil || env.Meta.Integrity.Proof == "" {
		t.Fatalf("%+v, %v", env, err)
	}
	if _, err := f.GitHubClient(ctx); err != nil {
		t.Errorf("health: %v", err)
	}
}

// A broken log is read-only: nothing is published, what was signed is served.
func TestBrokenLogPublishesNothing(t *testing.T) {
	ctx := context.Background()
	f, l := servertest.ServeLog(t, nil)
	if _, err := f.Publish(ctx, registrytest.Document("io.github.acme/notes", "1.0.0"), ""); err != nil {
		t.Fatal(err)
	}
	db := f.Config.Records.(*sqlite.DB)
	servertest.Alter(t, db, "DELETE FROM log_entries")
	if _, err := l.Covering(ctx, 1); !errors.Is(err, log.ErrBroken) {
		t.Fatal(err)
	}
	var p *registry.Problem
	if _, err := f.Publish(ctx, registrytest.Document("io.github.acme/notes", "2.0.0"), ""); !errors.As(err, &p) ||
		p.Status != 503 || !strings.Contains(p.Detail, "not the one that was signed") || p.RetryAfter == 0 {
		t.Errorf("publish: %v", err)
	}
	// What was signed and is gone is not "later": whoever has the head then knows that it was removed.
	if res, body := registrytest.Send(t, "GET", f.URL+"/tile/entries/000.p/1", ""); res.StatusCode != 404 {
		t.Errorf("a tile that is lost: %d %s", res.StatusCode, body)
	}
	if _, err := db.Get(ctx, "io.github.acme/notes", "2.0.0"); !errors.Is(err, registry.ErrNotFound) {
		t.Errorf("it was inserted: %v", err)
	}
	if _, err := f.GitHubClient(ctx); !errors.As(err, &p) || p.Status != 503 {
		t.Errorf("health: %v", err)
	}
	res, err := http.Get(f.URL + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var text bytes.Buffer
	text.ReadFrom(res.Body)
	for _, want := range []string{"hallmark_registry_log_broken 1\n", "hallmark_registry_log_size 1\n"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in the metrics", want)
		}
	}
	if _, err := f.Checkpoint(ctx); err != nil {
		t.Error(err)
	}
	if !strings.Contains(f.Log(), "unhealthy") {
		t.Error("nothing in the log")
	}
}

// A replica that does not know yet what another one signed serves its tiles all the same,
// and lets nobody keep them. What the database lacks is not there.
func TestTilesBeyondTheHead(t *testing.T) {
	ctx := context.Background()
	f, l := servertest.ServeLog(t, nil)
	db := f.Config.Records.(*sqlite.DB)
	registrytest.Fill(t, db, 0, 3)
	if _, err := l.Covering(ctx, 2); err != nil {
		t.Fatal(err)
	}
	l.Log.Close() // it signs nothing any more
	registrytest.Fill(t, db, 3, 5)
	get := func(path string) (int, string) {
		res, err := http.Get(f.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, _ := io.ReadAll(res.Body)
		if res.StatusCode != http.StatusOK {
			return res.StatusCode, ""
		}
		return len(body), res.Header.Get("Cache-Control")
	}
	if size, cache := get("/tile/0/000.p/5"); size != 5*tlog.HashSize || cache != api.CacheCheckpoint {
		t.Errorf("%d, %q", size, cache)
	}
	if size, cache := get("/tile/0/000.p/3"); size != 3*tlog.HashSize || cache != api.CacheTile {
		t.Errorf("%d, %q", size, cache)
	}
	if status, _ := get("/tile/0/000.p/6"); status != http.StatusNotFound {
		t.Errorf("beyond the database: %d", status)
	}
	servertest.Alter(t, db, "DELETE FROM log_entries WHERE idx = 1")
	if status, _ := get("/tile/entries/000.p/3"); status != http.StatusNotFound {
		t.Errorf("without one of its entries: %d", status)
	}
}
