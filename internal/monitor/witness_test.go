package monitor

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/ledger"
)

// aLog is a log of n numbered leaves.
type aLog struct {
	key    ledger.Key
	hashes []tlog.Hash // stored
}

func newLog(t *testing.T, origin string) *aLog {
	t.Helper()
	secret, _, err := ledger.GenerateKey(rand.Reader, origin)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ledger.ParseKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	return &aLog{key: key}
}

func (l *aLog) ReadHashes(indexes []int64) (out []tlog.Hash, err error) {
	for _, i := range indexes {
		out = append(out, l.hashes[i])
	}
	return out, nil
}

// checkpoint is the signed head of the log, grown to n leaves; other is another history.
func (l *aLog) checkpoint(t *testing.T, n int64, other string) ([]byte, tlog.Hash) {
	t.Helper()
	for i := int64(0); i < n; i++ {
		if tlog.StoredHashIndex(0, i) < int64(len(l.hashes)) {
			continue
		}
		more, err := tlog.StoredHashes(i, fmt.Appendf(nil, "%d%s", i, other), l)
		if err != nil {
			t.Fatal(err)
		}
		l.hashes = append(l.hashes, more...)
	}
	root, err := tlog.TreeHash(n, l)
	if err != nil {
		t.Fatal(err)
	}
	c := ledger.Checkpoint{Origin: l.key.Name(), Size: n, Root: root}
	note, err := c.Sign(l.key)
	if err != nil {
		t.Fatal(err)
	}
	return note, root
}

func (l *aLog) proof(t *testing.T, n, old int64) []tlog.Hash {
	t.Helper()
	if old == 0 || old == n {
		return nil
	}
	p, err := tlog.ProveTree(n, old, l)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func witnessKey(t *testing.T) ledger.Key {
	t.Helper()
	secret, _, err := ledger.GenerateKey(rand.Reader, "witness.example.org")
	if err != nil {
		t.Fatal(err)
	}
	key, err := ledger.ParseWitnessKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func post(w http.Handler, a ledger.AddCheckpoint) *httptest.ResponseRecorder {
	out := httptest.NewRecorder()
	w.ServeHTTP(out, httptest.NewRequest(http.MethodPost, "/add-checkpoint", strings.NewReader(string(a.Marshal()))))
	return out
}

// A witness follows a log that grows, refuses everything that does not continue it, and
// remembers across restarts.
func TestAddCheckpoint(t *testing.T) {
	dir := t.TempDir()
	log, key := newLog(t, "log.example.com"), witnessKey(t)
	var alarms bytes.Buffer
	open := func(begin bool) *Cosigner {
		w, err := OpenWitness(
			WitnessConfig{Dir: dir, Key: key, Logs: []string{log.key.VerifierKey}, Begin: begin,
				Logger: slog.New(slog.NewTextHandler(&alarms, &slog.HandlerOptions{Level: slog.LevelError}))})
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	w := open(true)
	if _, err := OpenWitness(
		WitnessConfig{Dir: dir, Key: key, Logs: []string{log.key.VerifierKey}, Begin: false, Logger: slog.Default()}); err ==
		nil {
		t.Error("two processes use one directory")
	}
	trust, err := ledger.NewTrust(log.key.VerifierKey, []string{key.VerifierKey}, 1)
	if err != nil {
		t.Fatal(err)
	}
	cosigned := func(note []byte, out *httptest.ResponseRecorder) {
		t.Helper()
		if out.Code != http.StatusOK {
			t.Fatalf("%d %s", out.Code, out.Body)
		}
		s, err := trust.Open(append(note, out.Body.Bytes()...))
		if err != nil || len(s.Cosignatures) != 1 || s.CosignedAt(1).IsZero() {
			t.Fatalf("%v %+v", err, s)
		}
	}
	three, _ := log.checkpoint(t, 3, "")
	if out := post(w, ledger.AddCheckpoint{Proof: make([]tlog.Hash, 1), Checkpoint: three}); out.Code !=
		http.StatusUnprocessableEntity {
		t.Errorf("a proof from nothing: %d", out.Code)
	}
	cosigned(three, post(w, ledger.AddCheckpoint{Checkpoint: three}))
	if out := post(w, ledger.AddCheckpoint{Old: 3, Proof: make([]tlog.Hash, 1), Checkpoint: three}); out.Code !=
		http.StatusUnprocessableEntity {
		t.Errorf("a proof between equals: %d", out.Code)
	}
	cosigned(three, post(w, ledger.AddCheckpoint{Old: 3, Checkpoint: three}))
	w.Close()
	w = open(false) // what was cosigned is on disk
	defer w.Close()
	ten, _ := log.checkpoint(t, 10, "")
	if out := post(w, ledger.AddCheckpoint{Checkpoint: ten}); out.Code != http.StatusConflict ||
		out.Body.String() != "3\n" || out.Header().Get("Content-Type") != "text/x.tlog.size" {
		t.Errorf("old 0: %d %q", out.Code, out.Body)
	}
	if out := post(w, ledger.AddCheckpoint{Old: 3, Checkpoint: ten}); out.Code != http.StatusUnprocessableEntity {
		t.Errorf("without a proof: %d", out.Code)
	}
	cosigned(ten, post(w, ledger.AddCheckpoint{Old: 3, Proof: log.proof(t, 10, 3), Checkpoint: ten}))

	// one that is one smaller than what was cosigned
	nine, _ := log.checkpoint(t, 9, "")
	if out := post(w, ledger.AddCheckpoint{Old: 10, Checkpoint: nine}); out.Code != http.StatusBadRequest {
		t.Errorf("one smaller: %d", out.Code)
	}
	if alarms.Len() > 0 {
		t.Errorf("an alarm about an honest log: %s", &alarms)
	}
	// the same key signs another history
	fork := &aLog{key: log.key}
	forked, _ := fork.checkpoint(t, 10, "!")
	if out := post(w, ledger.AddCheckpoint{Old: 10, Checkpoint: forked}); out.Code != http.StatusConflict {
		t.Errorf("another tree of the same size: %d", out.Code)
	}
	if !strings.Contains(alarms.String(), "two roots of 10 entries") {
		t.Errorf("no alarm: %s", &alarms)
	}
	longer, _ := fork.checkpoint(t, 12, "!")
	if out := post(w, ledger.AddCheckpoint{Old: 10, Proof: fork.proof(t, 12, 10), Checkpoint: longer}); out.Code !=
		http.StatusUnprocessableEntity {
		t.Errorf("another history: %d", out.Code)
	}
	// rewound
	if out := post(w, ledger.AddCheckpoint{Old: 3, Checkpoint: three}); out.Code != http.StatusConflict ||
		out.Body.String() != "10\n" {
		t.Errorf("rewound: %d %q", out.Code, out.Body)
	}
	if out := post(w, ledger.AddCheckpoint{Old: 10, Checkpoint: three}); out.Code != http.StatusBadRequest {
		t.Errorf("smaller than old: %d", out.Code)
	}
	// another key of the same name, and another log
	thief := newLog(t, "log.example.com")
	stolen, _ := thief.checkpoint(t, 11, "")
	if out := post(w, ledger.AddCheckpoint{Old: 10, Checkpoint: stolen}); out.Code != http.StatusForbidden {
		t.Errorf("another key: %d", out.Code)
	}
	stranger, _ := newLog(t, "other.example.com").checkpoint(t, 1, "")
	if out := post(w, ledger.AddCheckpoint{Checkpoint: stranger}); out.Code != http.StatusNotFound {
		t.Errorf("another log: %d", out.Code)
	}
	// none of it changed what is kept
	eleven, _ := log.checkpoint(t, 11, "")
	cosigned(eleven, post(w, ledger.AddCheckpoint{Old: 10, Proof: log.proof(t, 11, 10), Checkpoint: eleven}))
}

// A state that cannot be read must not be taken for none.
func TestDamagedState(t *testing.T) {
	dir := t.TempDir()
	log, key := newLog(t, "log.example.com"), witnessKey(t)
	w, err := OpenWitness(
		WitnessConfig{Dir: dir, Key: key, Logs: []string{log.key.VerifierKey}, Begin: true,
			Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	note, _ := log.checkpoint(t, 3, "")
	post(w, ledger.AddCheckpoint{Checkpoint: note})
	w.Close()
	files, _ := filepath.Glob(filepath.Join(dir, "*.checkpoint"))
	if len(files) != 1 {
		t.Fatal(files)
	}
	for _, damaged := range [][]byte{nil, note[:len(note)-5], []byte("nothing cosigned of "),
		[]byte("nothing cosigned of other.example.com\n")} {
		os.WriteFile(files[0], damaged, 0o600)
		for _, begin := range []bool{false, true} {
			if _, err := OpenWitness(
				WitnessConfig{Dir: dir, Key: key, Logs: []string{log.key.VerifierKey}, Begin: begin,
					Logger: slog.Default()}); err == nil {
				t.Errorf("%q is taken for a state", damaged)
			}
		}
	}
}

// A witness that lost its disk must not cosign whatever history it is shown next.
func TestLostState(t *testing.T) {
	dir := t.TempDir()
	log, other, key := newLog(t, "log.example.com"), newLog(t, "other.example.com"), witnessKey(t)
	open := func(begin bool, logs ...string) (*Cosigner, error) {
		return OpenWitness(WitnessConfig{Dir: dir, Key: key, Logs: logs, Begin: begin, Logger: slog.New(slog.DiscardHandler)})
	}
	refused := func(want evidence.Class, part string, begin bool, logs ...string) {
		t.Helper()
		w, err := open(begin, logs...)
		if err == nil {
			w.Close()
		}
		if err == nil || evidence.ClassOf(err) != want || !strings.Contains(err.Error(), part) {
			t.Errorf("%v", err)
		}
	}
	refused(evidence.Refused, `no state of the log "log.example.com"`, false, log.key.VerifierKey)
	w, err := open(true, log.key.VerifierKey)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(w.Begun, []string{"log.example.com"}) {
		t.Errorf("begun with %q", w.Begun)
	}
	w.Close()
	// begun with, and nothing cosigned yet
	if w, err = open(false, log.key.VerifierKey); err != nil || w.Begun != nil {
		t.Fatal(err)
	}
	three, _ := log.checkpoint(t, 3, "")
	if out := post(w, ledger.AddCheckpoint{Checkpoint: three}); out.Code != http.StatusOK {
		t.Fatalf("%d %s", out.Code, out.Body)
	}
	// lost while it runs
	file := w.checkpointFile("log.example.com")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	fork := &aLog{key: log.key}
	forked, _ := fork.checkpoint(t, 3, "!")
	if out := post(w, ledger.AddCheckpoint{Checkpoint: forked}); out.Code != http.StatusInternalServerError {
		t.Errorf("a witness that lost its state answers %d %s", out.Code, out.Body)
	}
	w.Close()
	refused(evidence.Refused, `no state of the log "log.example.com"`, false, log.key.VerifierKey)
	// what was cosigned, put in its place by a person
	if err := os.WriteFile(file, three, 0o600); err != nil {
		t.Fatal(err)
	}
	// another log is begun with, and the first is kept to what it showed
	refused(evidence.Refused, `no state of the log "other.example.com"`, false, log.key.VerifierKey,
		other.key.VerifierKey)
	if w, err = open(true, log.key.VerifierKey, other.key.VerifierKey); err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if out := post(w, ledger.AddCheckpoint{Checkpoint: forked}); out.Code != http.StatusConflict ||
		out.Body.String() != "3\n" {
		t.Errorf("%d %q", out.Code, out.Body)
	}
	one, _ := other.checkpoint(t, 1, "")
	if out := post(w, ledger.AddCheckpoint{Checkpoint: one}); out.Code != http.StatusOK {
		t.Errorf("%d %q", out.Code, out.Body)
	}
}

func TestRequests(t *testing.T) {
	log, key := newLog(t, "log.example.com"), witnessKey(t)
	w, err := OpenWitness(
		WitnessConfig{Dir: t.TempDir(), Key: key, Logs: []string{log.key.VerifierKey}, Begin: true,
			Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for _, c := range []struct {
		method, path, body string
		want               int
	}{
		{http.MethodGet, "/add-checkpoint", "", http.StatusMethodNotAllowed},
		{http.MethodPost, "/", "", http.StatusNotFound},
		{http.MethodPost, "/add-checkpoint", "", http.StatusBadRequest},
		{http.MethodPost, "/add-checkpoint", "old 0\n\n", http.StatusBadRequest},
		{http.MethodPost, "/add-checkpoint", "old 00\n\nlog.example.com\n", http.StatusBadRequest},
		{http.MethodPost, "/add-checkpoint", "old 0\n\nlog.example.com\nno note\n", http.StatusForbidden},
		{http.MethodPost, "/add-checkpoint", strings.Repeat("x", ledger.MaxProof+10), http.StatusBadRequest},
	} {
		out := httptest.NewRecorder()
		w.ServeHTTP(out, httptest.NewRequest(c.method, c.path, strings.NewReader(c.body)))
		if out.Code != c.want {
			t.Errorf("%s %s %.30q: %d, want %d", c.method, c.path, c.body, out.Code, c.want)
		}
	}
	for _, bad := range [][]string{nil, {newLog(t, key.Name()).key.VerifierKey},
		{log.key.VerifierKey, log.key.VerifierKey}, {"no key"}} {
		if _, err := OpenWitness(WitnessConfig{Dir: t.TempDir(), Key: key, Logs: bad, Begin: true, Logger: slog.Default()}); err ==
			nil {
			t.Errorf("logs %q are taken", bad)
		}
	}
}
