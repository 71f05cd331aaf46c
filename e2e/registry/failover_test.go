package registry

import (
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/e2e/hang"
	"github.com/hallmark-mcp/hallmark/e2e/postgres"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	registryclient "github.com/hallmark-mcp/hallmark/internal/registry/client"
	"github.com/hallmark-mcp/hallmark/ledger"
)

// The primary of a replicated PostgreSQL is killed under load and its standby promoted.
// Two registries that name both go on by themselves: what was acknowledged is there and in
// the log, which is the same one, and readers were told to come back meanwhile (R5).
func TestPostgresFailsOver(t *testing.T) {
	primary := postgres.ForTest(t)
	standby, err := primary.Standby()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := standby.Close(); err != nil {
			t.Error(err)
		}
	})
	keyFile := filepath.Join(t.TempDir(), "log.key")
	key, _, err := registry.OpenLogKey(t.Context(), keyFile, "log.example.com")
	if err != nil {
		t.Fatal(err)
	}
	trust, err := ledger.NewTrust(key.VerifierKey, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	flags := []string{"--db", primary.FailoverURL("postgres", standby), "--log-key-file", keyFile, "--rate-writes", "0"}
	var replicas []*replica
	for _, start := range []func(testing.TB, ...string) *replica{startFirst, start} {
		replicas = append(replicas, start(t, slices.Concat(flags, []string{"--data", t.TempDir()})...))
	}

	publishing, reading := publishers(t, "failover", replicas...), readers(t, replicas...)
	publishing.more(60)
	if err := primary.Kill(); err != nil {
		t.Fatal(err)
	}
	reading.turnedAway() // there is no database
	if err := standby.Promote(); err != nil {
		t.Fatal(err)
	}
	publishing.more(60)
	for _, r := range replicas { // each of them
		for end := time.Now().Add(hang.Long); ; time.Sleep(20 * time.Millisecond) {
			status := r.publish("io.example.promoted/"+strings.ReplaceAll(r.addr, ":", "-"), "1.0.0")
			if status == http.StatusOK || status == http.StatusCreated {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("%s does not publish after the standby was promoted: status %d", r.addr, status)
			}
		}
	}
	acked := publishing.stop()
	if good, away := reading.stop(); good == 0 || away == 0 {
		t.Errorf("%d good answers, %d times away", good, away)
	}

	signed := map[string]int64{}
	for _, r := range replicas {
		served := &registryclient.Client{Base: "http://" + r.addr}
		note, err := served.Checkpoint(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		s, err := trust.Open(note)
		if err != nil {
			t.Fatal(err)
		}
		signed[r.addr] = s.Size
	}
	for _, r := range replicas {
		covered(t, r, trust, slices.Max(slices.Collect(maps.Values(signed))))
		complete(t, r, acked)
		entries, err := logCheck(t, "http://"+r.addr, key.VerifierKey)
		if err != nil {
			t.Fatal(err)
		}
		logged := map[string]int{}
		for _, text := range entries {
			leaf, err := ledger.ParseLeaf([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			logged[leaf.Name+" "+leaf.Version]++
		}
		for _, subject := range acked {
			if logged[subject] != 1 {
				t.Errorf("%s was acknowledged and is in the log %d times", subject, logged[subject])
			}
		}
		for subject, n := range logged {
			if n != 1 {
				t.Errorf("%s is in the log %d times", subject, n)
			}
		}
	}
}
