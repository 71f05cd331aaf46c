package servertest

import (
	"context"
	"crypto/rand"
	"path/filepath"
	"sync"
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/log"
	"github.com/hallmark-mcp/hallmark/ledger"
)

// ServedLog is a log over a database.
type ServedLog struct {
	*log.Log
	Key   ledger.Key
	Trust ledger.Trust
	Heads log.FileHeads
}

// NewLogKey makes a key of the log log.example.com.
func NewLogKey(t testing.TB) ledger.Key {
	secret, _, err := ledger.GenerateKey(rand.Reader, "log.example.com")
	if err != nil {
		t.Fatal(err)
	}
	key, err := ledger.ParseKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// OpenLog begins a log over db with a key of its own.
func OpenLog(t testing.TB, db registry.Entries) *ServedLog {
	l := &ServedLog{Key: NewLogKey(t), Heads: log.FileHeads{Path: filepath.Join(t.TempDir(), "head")}}
	var err error
	if l.Trust, err = ledger.NewTrust(l.Key.VerifierKey, nil, 0); err != nil {
		t.Fatal(err)
	}
	if err := log.Begin(context.Background(), db, l.Heads, l.Key); err != nil {
		t.Fatal(err)
	}
	if err := l.Again(t, db); err != nil {
		t.Fatal(err)
	}
	return l
}

// OpenFirstLog begins the log of a new key and opens it.
func OpenFirstLog(db registry.Entries, heads registry.Heads, key ledger.Key) (*log.Log, error) {
	ctx := context.Background()
	if err := log.Begin(ctx, db, heads, key); err != nil {
		return nil, err
	}
	return log.Open(ctx, db, heads, key, nil)
}

// Again closes the log and opens it over db.
func (l *ServedLog) Again(t testing.TB, db registry.Entries) (err error) {
	if l.Log != nil {
		l.Close()
	}
	l.Log, err = log.Open(context.Background(), db, l.Heads, l.Key, nil)
	if l.Log != nil {
		t.Cleanup(l.Log.Close)
	}
	return err
}

// Proven verifies a proof and demands that it is of rec.
func (l *ServedLog) Proven(t testing.TB, proof []byte, rec registry.Record) ledger.Proven {
	t.Helper()
	p, err := ledger.ParseProof(proof)
	if err != nil {
		t.Fatalf("%v in %s", err, proof)
	}
	got, err := p.Verify(l.Trust)
	if err != nil {
		t.Fatal(err)
	}
	if got.Leaf.Name != rec.Name || got.Leaf.Version != rec.Version || !evidence.Same(got.Leaf.Document, rec.Digest) {
		t.Fatalf("the proof is of %s", got.Leaf.Subject())
	}
	return got
}

// FaultyHeads fails while it is told to.
type FaultyHeads struct {
	registry.Heads
	Mu     sync.Mutex
	Fault  error
	Silent bool // the swap is done and then fails
}

// Swap fails with the fault, if there is one: before the swap, or once after it if h is silent.
func (h *FaultyHeads) Swap(ctx context.Context, tag string, note []byte) (string, error) {
	h.Mu.Lock()
	defer h.Mu.Unlock()
	if h.Fault != nil && !h.Silent {
		return "", h.Fault
	}
	tag, err := h.Heads.Swap(ctx, tag, note)
	if h.Fault != nil && err == nil {
		err, h.Fault = h.Fault, nil
	}
	return tag, err
}
