package log_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/e2e/hang"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/log"
	"github.com/hallmark-mcp/hallmark/internal/registry/registrytest"
	"github.com/hallmark-mcp/hallmark/internal/registry/servertest"
	"github.com/hallmark-mcp/hallmark/ledger"
)

// aWitness cosigns what continues what it cosigned last.
type aWitness struct {
	log.Witness
	key    ledger.Key
	secret string

	mu       sync.Mutex
	trust    ledger.Trust
	last     ledger.Checkpoint
	requests int
	inFlight int
	most     int
	status   int           // answered instead, if it is not 0
	failures int           // requests that are refused before the first is answered
	ahead    time.Duration // of its clock
}

func startWitness(t *testing.T, name string, trust ledger.Trust) *aWitness {
	secret, _, err := ledger.GenerateKey(rand.Reader, name)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ledger.ParseWitnessKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	w := &aWitness{key: key, secret: secret, trust: trust}
	srv := httptest.NewServer(w)
	t.Cleanup(srv.Close)
	if w.Witness, err = log.ParseWitness(key.VerifierKey + "=" + srv.URL + "/w/"); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *aWitness) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	w.inFlight++
	w.most = max(w.most, w.inFlight)
	w.mu.Unlock()
	time.Sleep(5 * time.Millisecond)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.inFlight--
	w.requests++
	if w.status != 0 {
		http.Error(out, "no", w.status)
		return
	}
	if w.requests <= w.failures {
		http.Error(out, "not yet", http.StatusServiceUnavailable)
		return
	}
	body, _ := io.ReadAll(r.Body)
	add, err := ledger.ParseAddCheckpoint(body)
	if err != nil || r.Method != http.MethodPost || r.URL.Path != "/w/add-checkpoint" {
		http.Error(out, "malformed", http.StatusBadRequest)
		return
	}
	signed, err := w.trust.Open(add.Checkpoint)
	if err != nil {
		http.Error(out, "not signed", http.StatusForbidden)
		return
	}
	if add.Old != w.last.Size {
		out.Header().Set("Content-Type", "text/x.tlog.size")
		out.WriteHeader(http.StatusConflict)
		fmt.Fprintf(out, "%d\n", w.last.Size)
		return
	}
	if w.last.Size > 0 {
		if err := ledger.CheckConsistency(w.last, signed.Checkpoint, add.Proof); err != nil {
			http.Error(out, err.Error(), http.StatusUnprocessableEntity)
			return
		}
	}
	w.last = signed.Checkpoint
	line, err := ledger.Cosign(signed, w.key)
	if err != nil {
		http.Error(out, err.Error(), http.StatusInternalServerError)
		return
	}
	if w.ahead > 0 {
		line = w.cosign(add.Checkpoint, time.Now().Add(w.ahead))
	}
	out.Write(line)
}

// cosign makes a cosignature with another time than now.
func (w *aWitness) cosign(note []byte, at time.Time) []byte {
	text, _, _ := strings.Cut(string(note), "\n\n")
	secret := strings.SplitN(w.secret, "+", 5)
	raw, _ := base64.StdEncoding.DecodeString(secret[4])
	message := fmt.Appendf(nil, "cosignature/v1\ntime %d\n%s\n", at.Unix(), text)
	sig := binary.BigEndian.AppendUint32(nil, w.Key.KeyHash())
	sig = binary.BigEndian.AppendUint64(sig, uint64(at.Unix()))
	sig = append(sig, ed25519.Sign(ed25519.NewKeyFromSeed(raw[1:]), message)...)
	return fmt.Appendf(nil, "— %s %s\n", w.Key.Name(), base64.StdEncoding.EncodeToString(sig))
}

// A cosignature from the future is not taken: it would outlive all others.
func TestWitnessAhead(t *testing.T) {
	db := servertest.OpenSQLite(t, filepath.Join(t.TempDir(), "registry.db"))
	l := servertest.OpenLog(t, db)
	a, b := startWitness(t, "a.example.com", l.Trust), startWitness(t, "b.example.com", l.Trust)
	b.ahead = 2 * log.WitnessAhead
	registrytest.Fill(t, db, 0, 3)
	if _, err := l.Covering(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	f := log.NewFeeder(l.Log, l.Trust, a.Witness, b.Witness)
	if err := f.Round(t.Context(), l.Head()); err == nil ||
		!strings.Contains(err.Error(), `"b.example.com": it cosigned in the future`) {
		t.Errorf("round: %v", err)
	}
	if signed, err := f.Open(l.Checkpoint()); err != nil || len(signed.Cosignatures) != 1 ||
		signed.Cosignatures[0].Witness != "a.example.com" {
		t.Errorf("%+v, %v", signed, err)
	}
	// nor from the database
	note := append(bytes.Clone(l.Checkpoint()), b.cosign(l.Head().Note, time.Now().Add(b.ahead))...)
	if signed, err := f.Open(note); err != nil || len(signed.Cosignatures) != 2 {
		t.Fatalf("%+v, %v", signed, err)
	}
	if err := db.SetLogState(t.Context(), registry.LogState{Signed: true, Cosigned: note}); err != nil {
		t.Fatal(err)
	}
	if err := f.Serve(t.Context(), ledger.Signed{}); err != nil || bytes.Equal(l.Checkpoint(), note) {
		t.Errorf("served, %v", err)
	}
	// one that is a little ahead is in time
	b.mu.Lock()
	b.ahead = log.WitnessAhead / 2
	b.mu.Unlock()
	if err := f.Round(t.Context(), l.Head()); err != nil {
		t.Error(err)
	}
}

// A witness that fails is asked again soon, though nothing new is published.
func TestWitnessFailsForAMoment(t *testing.T) {
	db := servertest.OpenSQLite(t, filepath.Join(t.TempDir(), "registry.db"))
	l := servertest.OpenLog(t, db)
	w := startWitness(t, "a.example.com", l.Trust)
	w.failures = 2
	registrytest.Fill(t, db, 0, 3)
	if _, err := l.Covering(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	go l.Feed(t.Context(), []log.Witness{w.Witness})
	hang.Until(t, "cosigned", func() bool { return bytes.Contains(l.Checkpoint(), []byte("a.example.com")) })
}

func TestWitnessesCosign(t *testing.T) {
	db := servertest.OpenSQLite(t, filepath.Join(t.TempDir(), "registry.db"))
	l := servertest.OpenLog(t, db)
	var witnesses []log.Witness
	var keys []string
	var servers []*aWitness
	for i := range 2 {
		w := startWitness(t, fmt.Sprintf("w%d.example.com", i), l.Trust)
		servers, witnesses, keys = append(servers, w), append(witnesses, w.Witness), append(keys, w.key.VerifierKey)
	}
	down := log.Witness{Key: witnesses[0].Key, URL: "http://127.0.0.1:1"}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var wg sync.WaitGroup
	wg.Go(func() { l.Feed(ctx, append(witnesses, down)[:2]) })
	defer wg.Wait()
	defer stop()
	both, err := ledger.NewTrust(l.Key.VerifierKey, keys, 2)
	if err != nil {
		t.Fatal(err)
	}
	served := func(size int64, quorum int) func() bool {
		return func() bool {
			trust := both
			trust.Quorum = quorum
			signed, err := trust.Open(l.Checkpoint())
			return err == nil && signed.Size == size && len(signed.Cosignatures) == quorum
		}
	}
	began := time.Now().Truncate(time.Second)
	registrytest.Fill(t, db, 0, 5)
	hang.Until(t, "cosigned", served(5, 2))
	registrytest.Fill(t, db, 5, 9)
	hang.Until(t, "cosigned again", served(9, 2))
	// Another replica serves it too, and goes on although it knows nothing of the witnesses.
	other := &servertest.ServedLog{Key: l.Key, Trust: l.Trust, Heads: l.Heads}
	if err := other.Again(t, db); err != nil {
		t.Fatal(err)
	}
	wg.Go(func() { other.Feed(ctx, witnesses) })
	hang.Until(t, "served by the other", func() bool { return string(other.Checkpoint()) == string(l.Checkpoint()) })
	registrytest.Fill(t, db, 9, 12)
	hang.Until(t, "cosigned by way of two", served(12, 2))
	// A proof is under the checkpoint that was cosigned.
	proof, err := l.ProveServed(context.Background(), 11)
	if err != nil {
		t.Fatal(err)
	}
	p, err := ledger.ParseProof(proof)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := p.Verify(both); err != nil || len(got.Cosignatures) != 2 ||
		got.CosignedAt(2).Before(began) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, w := range servers {
		w.mu.Lock()
		if w.most > 2 { // one of each replica
			t.Errorf("%d requests at once", w.most)
		}
		w.mu.Unlock()
	}
}

// While a witness does not answer, what the others cosigned is served in time.
func TestWitnessAway(t *testing.T) {
	db := servertest.OpenSQLite(t, filepath.Join(t.TempDir(), "registry.db"))
	l := servertest.OpenLog(t, db)
	a, b := startWitness(t, "a.example.com", l.Trust), startWitness(t, "b.example.com", l.Trust)
	b.status = http.StatusForbidden
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	registrytest.Fill(t, db, 0, 3)
	if _, err := l.Covering(ctx, 2); err != nil {
		t.Fatal(err)
	}
	f := log.NewFeeder(l.Log, l.Trust, a.Witness, b.Witness)
	if err := f.Round(ctx, l.Head()); err == nil || !strings.Contains(err.Error(), "b.example.com") ||
		strings.Contains(err.Error(), "a.example.com") {
		t.Errorf("round: %v", err)
	}
	if signed, err := f.Open(l.Checkpoint()); err != nil || len(signed.Cosignatures) != 1 || signed.Size != 3 {
		t.Errorf("%+v, %v", signed, err)
	}
	// The other one comes back, ahead of what is known of it.
	b.mu.Lock()
	b.status, b.last = 0, ledger.Checkpoint{Origin: l.Key.Name(), Size: 2}
	b.mu.Unlock()
	edge, _, err := l.EdgeAt(ctx, 2)
	if err != nil {
		t.Fatal(err)
	}
	b.last.Root = edge.Root()
	if err := f.Round(ctx, l.Head()); err != nil {
		t.Error(err)
	}
	if signed, err := f.Open(l.Checkpoint()); err != nil || len(signed.Cosignatures) != 2 {
		t.Errorf("%+v, %v", signed, err)
	}
	// One that saw another history does not cosign.
	b.mu.Lock()
	b.last.Root[0] ^= 1
	b.mu.Unlock()
	registrytest.Fill(t, db, 3, 4)
	head, err := l.Covering(ctx, 3)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Round(ctx, head); err == nil || !strings.Contains(err.Error(), "b.example.com") {
		t.Errorf("round: %v", err)
	}
	// What both cosigned is served for some time yet.
	if signed, err := f.Open(l.Checkpoint()); err != nil || len(signed.Cosignatures) != 2 || signed.Size != 3 {
		t.Errorf("%+v, %v", signed, err)
	}
}

func TestParseWitness(t *testing.T) {
	secret, plain, err := ledger.GenerateKey(rand.Reader, "w.example.com")
	if err != nil {
		t.Fatal(err)
	}
	key, err := ledger.ParseWitnessKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	for s, want := range map[string]string{
		key.VerifierKey + "=https://w.example.com/a=https/": "https://w.example.com/a=https",
		plain + "=http://127.0.0.1:80":                      "http://127.0.0.1:80",
		key.VerifierKey + "=http://w.example.com":           "",
		key.VerifierKey + "=https://u:p@w.example.com":      "",
		key.VerifierKey + "=https://":                       "",
		key.VerifierKey:                                     "",
		"=https://w.example.com":                            "",
	} {
		w, err := log.ParseWitness(s)
		if (err == nil) != (want != "") || err == nil && (w.URL != want || w.Key.Name() != "w.example.com") {
			t.Errorf("%s: %+v, %v", s, w, err)
		}
	}
}
