package registry

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/e2e/s3"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/ledger"
)

// logged is a database with all that appends to its log.
type logged interface {
	Records
	Statuses
	Findings
	Imports
	Entries
}

func TestSQLiteEntries(t *testing.T) {
	testEntries(t, func(t *testing.T) logged { return openTest(t, filepath.Join(t.TempDir(), "registry.db")) })
}

func TestPostgresEntries(t *testing.T) {
	testEntries(t, func(t *testing.T) logged { return openPostgresTest(t) })
}

// entries reads and parses the whole log, and checks that its hashes are those of its
// entries.
func entries(t testing.TB, db Entries) []ledger.Leaf {
	t.Helper()
	ctx := context.Background()
	state, err := db.LogState(ctx)
	if err != nil {
		t.Fatal(err)
	}
	texts, err := db.LogEntries(ctx, 0, int(state.Size)+10)
	if err != nil || int64(len(texts)) != state.Size {
		t.Fatalf("%d entries of %d, %v", len(texts), state.Size, err)
	}
	hashes, err := db.LogHashes(ctx, 0, 0, int(state.Size)+10)
	if err != nil || int64(len(hashes)) != state.Size {
		t.Fatalf("%d hashes of %d, %v", len(hashes), state.Size, err)
	}
	var replay ledger.Replay
	var leaves []ledger.Leaf
	for i, text := range texts {
		if hashes[i] != tlog.RecordHash(text) {
			t.Errorf("entry %d has the hash of another", i)
		}
		leaf, fault := replay.Add(text)
		if fault != nil {
			t.Fatal(fault)
		}
		leaves = append(leaves, leaf)
	}
	return leaves
}

// lines prints leaves for comparison.
func lines(leaves []ledger.Leaf) []string {
	var out []string
	for _, l := range leaves {
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s %s by %s at %s", l.Kind, l.Subject(), l.Status, l.Publisher, l.At.Format(time.RFC3339))))
	}
	return out
}

// testEntries is the conformance suite of [Entries].
func testEntries(t *testing.T, open func(*testing.T) logged) {
	ctx := context.Background()

	t.Run("what appends", func(t *testing.T) {
		db := open(t)
		a := record(t, "io.github.acme/a", "1.0.0", 0)
		a.Publisher = "github-at:acme"
		if got := insert(t, db, a); got.entry != 0 {
			t.Errorf("entry %d", got.entry)
		}
		if _, err := db.Insert(ctx, admission(a), a); !errors.Is(err, ErrExists) {
			t.Fatal(err)
		}
		b := record(t, "io.github.acme/b", "1.0.0", 1)
		b.Origin, b.ImportedAt, b.Status, b.StatusMessage = "https://registry.example.com", epoch.Add(time.Hour), Deprecated, "old"
		b.StatusChangedAt = epoch
		if got := insert(t, db, b); got.entry != 1 {
			t.Errorf("entry %d", got.entry)
		}
		insert(t, db, record(t, "io.github.acme/a", "2.0.0", 2))
		if _, _, err := db.SetStatus(ctx, "io.github.acme/a", "", Change{Status: Deleted, Message: "bad", At: epoch.Add(2 * time.Hour), By: "dns:acme"}); err != nil {
			t.Fatal(err)
		}
		if _, _, err := db.SetStatus(ctx, "io.github.acme/a", "1.0.0", Change{Status: Deleted, Message: "bad", At: epoch.Add(3 * time.Hour)}); !errors.Is(err, ErrUnchanged) {
			t.Fatal(err)
		}
		finding := Finding{Name: "io.github.acme/a", Version: "1.0.0", At: epoch.Add(4 * time.Hour), Build: "x", Evidence: json.RawMessage(`[ {"b": 1, "a": 2} ]`)}
		if err := db.AddFinding(ctx, finding); err != nil {
			t.Fatal(err)
		}
		if err := db.AddFinding(ctx, Finding{Name: "io.github.acme/none", Version: "1", At: epoch}); !errors.Is(err, ErrNotFound) {
			t.Fatal(err)
		}
		upstream := b
		upstream.Status, upstream.StatusMessage = Active, ""
		upstream.StatusChangedAt, upstream.UpdatedAt = epoch.Add(5*time.Hour), epoch.Add(5*time.Hour)
		upstream.ImportedAt = epoch.Add(6 * time.Hour)
		for _, want := range []bool{true, false} {
			if followed, err := db.Follow(ctx, upstream); err != nil || followed != want {
				t.Fatalf("followed %t, %v", followed, err)
			}
		}
		got := entries(t, db)
		at := func(hours int) string {
			return epoch.Truncate(time.Second).Add(time.Duration(hours) * time.Hour).Format(time.RFC3339)
		}
		want := []string{
			"server server io.github.acme/a@1.0.0  by github-at:acme at " + at(0),
			"server server io.github.acme/b@1.0.0  by import:https://registry.example.com at " + at(1),
			"status server io.github.acme/b@1.0.0 deprecated by import:https://registry.example.com at " + at(1),
			"server server io.github.acme/a@2.0.0  by anonymous at " + epoch.Truncate(time.Second).Add(2*time.Minute).Format(time.RFC3339),
			"status server io.github.acme/a@2.0.0 deleted by dns:acme at " + at(2),
			"status server io.github.acme/a@1.0.0 deleted by dns:acme at " + at(2),
			"finding server io.github.acme/a@1.0.0  by operator at " + at(4),
			"status server io.github.acme/b@1.0.0 active by import:https://registry.example.com at " + at(6),
		}
		if g := lines(got); !slices.Equal(g, want) {
			t.Fatalf("got\n%s\nwant\n%s", strings.Join(g, "\n"), strings.Join(want, "\n"))
		}
		if !evidence.Same(a.Digest, got[0].Document) || !evidence.Same(b.Digest, got[1].Document) {
			t.Error("a record's entry has another document")
		}
		for i, message := range map[int]string{2: `{"message":"old","status":"deprecated"}`, 4: `{"message":"bad","status":"deleted"}`,
			6: `[{"a":2,"b":1}]`, 7: `{"message":"","status":"active"}`} {
			if !evidence.Same(digest.FromBytes([]byte(message)), got[i].Document) {
				t.Errorf("entry %d is not of %s", i, message)
			}
		}
		for name, want := range map[string]int64{"io.github.acme/a": 0, "io.github.acme/b": 1} {
			if i, err := db.LogIndex(ctx, ledger.Server, name, "1.0.0"); err != nil || i != want {
				t.Errorf("%s: entry %d, %v", name, i, err)
			}
		}
		for _, kind := range []ledger.Kind{ledger.Status, ledger.Finding, ledger.Facet} {
			if i, err := db.LogIndex(ctx, kind, "io.github.acme/a", "1.0.0"); !errors.Is(err, ErrNotFound) {
				t.Errorf("%s: entry %d, %v", kind, i, err)
			}
		}
		for _, of := range []struct {
			kind          ledger.Kind
			name, version string
			later         []int64
		}{
			{ledger.Server, "io.github.acme/a", "1.0.0", []int64{5, 6}}, {ledger.Server, "io.github.acme/b", "1.0.0", []int64{2, 7}},
			{ledger.Facet, "io.github.acme/a", "1.0.0", nil}, {ledger.Server, "io.github.acme/none", "1.0.0", nil},
		} {
			if later, err := db.LogLater(ctx, of.kind, of.name, of.version, 2); err != nil || !slices.Equal(later, of.later) {
				t.Errorf("%s %s@%s: %v, %v", of.kind, of.name, of.version, later, err)
			}
		}
		// Many changes of a status leave the finding where it is seen.
		for i := range 4 {
			c := Change{Status: []Status{Active, Deprecated}[i%2], At: epoch.Add(time.Duration(7+i) * time.Hour)}
			if _, _, err := db.SetStatus(ctx, "io.github.acme/a", "1.0.0", c); err != nil {
				t.Fatal(err)
			}
		}
		if later, err := db.LogLater(ctx, ledger.Server, "io.github.acme/a", "1.0.0", 2); err != nil || !slices.Equal(later, []int64{6, 10, 11}) {
			t.Errorf("%v, %v", later, err)
		}
		if hashes, err := db.LogHashes(ctx, 0, 6, 1); err != nil || len(hashes) != 1 {
			t.Errorf("%d hashes, %v", len(hashes), err)
		}
		if hashes, err := db.LogHashes(ctx, 0, 12, 1); err != nil || len(hashes) != 0 {
			t.Errorf("%d hashes after the end, %v", len(hashes), err)
		}
	})

	t.Run("many at once", func(t *testing.T) {
		db := open(t)
		var wg sync.WaitGroup
		var mu sync.Mutex
		told := map[string]int64{}
		for worker := range 32 {
			wg.Go(func() {
				for n := range 10 {
					// Each version is tried by two.
					rec := record(t, fmt.Sprintf("io.github.acme/s%d", worker/2), fmt.Sprintf("1.0.%d", n), n)
					got, err := db.Insert(ctx, admission(rec), rec)
					if errors.Is(err, ErrExists) {
						continue
					}
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					if _, twice := told[rec.Subject()]; twice {
						t.Errorf("%s was inserted twice", rec.Subject())
					}
					told[rec.Subject()] = got.entry
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		leaves := entries(t, db)
		if len(leaves) != 160 || len(told) != 160 {
			t.Fatalf("%d entries, %d inserted", len(leaves), len(told))
		}
		for subject, i := range told {
			if got := leaves[i].Name + "@" + leaves[i].Version; got != subject {
				t.Errorf("%s was told entry %d, which is %s", subject, i, got)
			}
		}
	})

	t.Run("subtrees", func(t *testing.T) {
		db := open(t)
		for n := range 3 {
			for v := range 100 {
				insert(t, db, record(t, fmt.Sprintf("io.github.acme/s%d", n), fmt.Sprintf("1.0.%d", v), v))
			}
		}
		// One transaction that completes a tile, and one that completes another.
		for n, status := range []Status{Deprecated, Active, Deprecated} {
			if _, _, err := db.SetStatus(ctx, "io.github.acme/s0", "", Change{Status: status, At: epoch.Add(time.Duration(n) * time.Hour)}); err != nil {
				t.Fatal(err)
			}
		}
		leaves := entries(t, db)
		nodes, err := db.LogHashes(ctx, 1, 0, 10)
		if err != nil || len(leaves) != 600 || len(nodes) != 2 {
			t.Fatalf("%d entries, %d subtrees, %v", len(leaves), len(nodes), err)
		}
		for i, node := range nodes {
			hashes, err := db.LogHashes(ctx, 0, int64(i)*256, 256)
			if err != nil {
				t.Fatal(err)
			}
			var edge ledger.Edge
			for _, h := range hashes {
				edge.Add(h)
			}
			if edge.Root() != node {
				t.Errorf("subtree %d has another root", i)
			}
		}
		if only, err := db.LogHashes(ctx, 1, 1, 1); err != nil || len(only) != 1 || only[0] != nodes[1] {
			t.Errorf("%v, %v", only, err)
		}
	})

	t.Run("state", func(t *testing.T) {
		db := open(t)
		if state, err := db.LogState(ctx); err != nil || state.Size != 0 || state.Signed || state.Cosigned != nil {
			t.Fatalf("%+v, %v", state, err)
		}
		insert(t, db, record(t, "io.github.acme/a", "1.0.0", 0))
		if err := db.SetLogState(ctx, LogState{Signed: true, Cosigned: []byte("a\nb\n")}); err != nil {
			t.Fatal(err)
		}
		if state, err := db.LogState(ctx); err != nil || state.Size != 1 || !state.Signed || string(state.Cosigned) != "a\nb\n" {
			t.Fatalf("%+v, %v", state, err)
		}
	})
}

// Records of before the log get their entries once, however many there are, and those
// that have one no other.
func testFill(t *testing.T, db logged, exec func(string) error, fill func() error) {
	ctx := context.Background()
	for n := range 5 {
		for v := range 5 {
			rec := record(t, fmt.Sprintf("io.github.acme/s%d", n), fmt.Sprintf("1.0.%d", v), v)
			if v == 4 {
				rec.Origin, rec.ImportedAt, rec.Status, rec.StatusChangedAt = "https://registry.example.com", epoch, Deleted, epoch
			}
			insert(t, db, rec)
		}
	}
	before := entries(t, db)
	if len(before) != 30 {
		t.Fatalf("%d entries", len(before))
	}
	for _, statement := range []string{"DELETE FROM log_entries", "DELETE FROM log_nodes", "UPDATE log_head SET complete = COMPLETE, edge = EDGE"} {
		if err := exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := fill(); err != nil {
			t.Fatal(err)
		}
		got := entries(t, db)
		if len(got) != 30 {
			t.Fatalf("%d entries", len(got))
		}
		for _, l := range got {
			if want := map[bool]string{true: "import:https://registry.example.com", false: beforeTheLog}[l.Version == "1.0.4"]; l.Publisher != want {
				t.Errorf("%s is by %q", l.Subject(), l.Publisher)
			}
			if i, err := db.LogIndex(ctx, ledger.Server, l.Name, l.Version); err != nil || got[i].Document.String() != l.Document.String() && l.Kind == ledger.Server {
				t.Errorf("%s: %d, %v", l.Subject(), i, err)
			}
		}
	}
}

func TestSQLiteFill(t *testing.T) {
	db := openTest(t, filepath.Join(t.TempDir(), "registry.db"))
	testFill(t, db, func(s string) error {
		_, err := db.write.Exec(strings.NewReplacer("COMPLETE", "0", "EDGE", "zeroblob(8)").Replace(s))
		return err
	}, func() error { return fillLog(context.Background(), db.write) })
}

func TestPostgresFill(t *testing.T) {
	db := openPostgresTest(t)
	testFill(t, db, func(s string) error {
		_, err := db.pool.Exec(context.Background(), strings.NewReplacer("COMPLETE", "false", "EDGE", `'\x0000000000000000'`).Replace(s))
		return err
	}, func() error { return db.fillLog(context.Background()) })
}

// Extending in one step or in many gives the same subtrees, up to those of 65,536
// entries.
func TestExtend(t *testing.T) {
	const size = 66_000
	leaves := make([]ledger.Leaf, size)
	for i := range leaves {
		leaves[i] = ledger.Leaf{Kind: ledger.Server, Name: fmt.Sprint("n", i), Version: "1", Document: sum("x"), Publisher: "p", At: epoch.Truncate(time.Second)}
	}
	kept := map[int][]tlog.Hash{}
	edge := ledger.Edge{}
	for at, step := 0, 1; at < size; at, step = at+step, step%700+13 {
		a, err := extend(edge, leaves[at:min(at+step, size)], func(level int, first int64, n int) ([]tlog.Hash, error) {
			return kept[level][first : first+int64(n)], nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if a.first != int64(at) {
			t.Fatalf("first is %d, not %d", a.first, at)
		}
		kept[0] = append(kept[0], a.hashes...)
		for _, n := range a.nodes {
			if n.index != int64(len(kept[n.level])) {
				t.Fatalf("subtree %d of level %d after %d", n.index, n.level, len(kept[n.level]))
			}
			kept[n.level] = append(kept[n.level], n.hash)
		}
		edge = a.edge
	}
	whole, err := extend(ledger.Edge{}, leaves, nil)
	if err != nil {
		t.Fatal(err)
	}
	if whole.edge.Root() != edge.Root() || len(kept[1]) != size/256 || len(kept[2]) != 1 || len(whole.nodes) != size/256+1 {
		t.Fatalf("%d and %d subtrees", len(kept[1]), len(kept[2]))
	}
	for _, n := range whole.nodes {
		if kept[n.level][n.index] != n.hash {
			t.Errorf("subtree %d of level %d differs", n.index, n.level)
		}
	}
	var stored []tlog.Hash
	for i, h := range kept[0][:65536] {
		more, err := tlog.StoredHashesForRecordHash(int64(i), h, tlog.HashReaderFunc(func(indexes []int64) (out []tlog.Hash, _ error) {
			for _, i := range indexes {
				out = append(out, stored[i])
			}
			return out, nil
		}))
		if err != nil {
			t.Fatal(err)
		}
		stored = append(stored, more...)
	}
	if stored[tlog.StoredHashIndex(16, 0)] != kept[2][0] || stored[tlog.StoredHashIndex(8, 77)] != kept[1][77] {
		t.Error("the subtrees are not those of the library")
	}
}

// Whatever an issuer, a file or an export says, there is an entry.
func TestEntriesOfOddRecords(t *testing.T) {
	for _, rec := range []Record{
		{Name: "a/b", Version: strings.Repeat("\U0001F600", 255), Digest: sum("x"), Publisher: "oidc:a\nb\xff\x00c"},
		{Name: strings.Repeat("a", 200), Version: "1", Digest: sum("x"), Publisher: strings.Repeat("é", 600)},
		{Name: "a/b", Version: "1", Digest: sum("x"), Origin: "file:\x1b[31m.json", ImportedAt: epoch, Status: Deleted, StatusMessage: "x\ny"},
		{Name: "a/b", Version: "1", Digest: sum("x"), PublishedAt: time.Date(1, 1, 1, 0, 0, 0, 0, time.FixedZone("x", 3600)), Status: Active},
	} {
		leaves, err := rec.normal().leaves()
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range leaves {
			text, err := l.Marshal()
			if err != nil {
				t.Error(err)
			}
			if _, err := ledger.ParseLeaf(text); err != nil {
				t.Error(err)
			}
		}
	}
	if got := subject("a\nb\xff"); got != "a\ufffdb\ufffd" {
		t.Errorf("%q", got)
	}
	if got := subject(strings.Repeat("é", 600)); len(got) != ledger.MaxPublisher {
		t.Errorf("%d bytes", len(got))
	}
}

// aLog is a log over a database.
type aLog struct {
	*Log
	key   ledger.Key
	trust ledger.Trust
	heads FileHeads
}

func testKey(t testing.TB) ledger.Key {
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

func openTestLog(t testing.TB, db Entries) *aLog {
	l := &aLog{key: testKey(t), heads: FileHeads{filepath.Join(t.TempDir(), "head")}}
	var err error
	if l.trust, err = ledger.NewTrust(l.key.VerifierKey, nil, 0); err != nil {
		t.Fatal(err)
	}
	if err := BeginLog(context.Background(), db, l.heads, l.key); err != nil {
		t.Fatal(err)
	}
	if err := l.again(t, db); err != nil {
		t.Fatal(err)
	}
	return l
}

// firstLog begins the log of a new key and opens it.
func firstLog(db Entries, heads Heads, key ledger.Key) (*Log, error) {
	ctx := context.Background()
	if err := BeginLog(ctx, db, heads, key); err != nil {
		return nil, err
	}
	return OpenLog(ctx, db, heads, key, nil)
}

// again closes the log and opens it over db.
func (l *aLog) again(t testing.TB, db Entries) (err error) {
	if l.Log != nil {
		l.Close()
	}
	l.Log, err = OpenLog(context.Background(), db, l.heads, l.key, nil)
	if l.Log != nil {
		t.Cleanup(l.Log.Close)
	}
	return err
}

// proven verifies a proof and demands that it is of rec.
func (l *aLog) proven(t testing.TB, proof []byte, rec Record) ledger.Proven {
	t.Helper()
	p, err := ledger.ParseProof(proof)
	if err != nil {
		t.Fatalf("%v in %s", err, proof)
	}
	got, err := p.Verify(l.trust)
	if err != nil {
		t.Fatal(err)
	}
	if got.Leaf.Name != rec.Name || got.Leaf.Version != rec.Version || !evidence.Same(got.Leaf.Document, rec.Digest) {
		t.Fatalf("the proof is of %s", got.Leaf.Subject())
	}
	return got
}

func fill(t testing.TB, db Records, from, to int) (records []Record) {
	t.Helper()
	for i := from; i < to; i++ {
		records = append(records, insert(t, db, record(t, "io.github.acme/a", fmt.Sprintf("1.0.%d", i), i)))
	}
	return records
}

func TestLogSigns(t *testing.T) {
	ctx := context.Background()
	db := openFile(t, filepath.Join(t.TempDir(), "registry.db"))
	l := openTestLog(t, db)
	if head := l.Head(); head.Size != 0 || head.Origin != "log.example.com" {
		t.Fatalf("%+v", head)
	}
	var heads []ledger.Signed
	for i, rec := range fill(t, db, 0, 300) {
		if i%37 != 0 && i != 299 {
			continue
		}
		proof, err := l.Prove(ctx, rec.entry, nil)
		if err != nil {
			t.Fatal(err)
		}
		l.proven(t, proof, rec)
		heads = append(heads, l.Head())
	}
	// It goes on where it ended, and what was committed meanwhile is signed.
	l.Close()
	more := fill(t, db, 300, 303)
	if err := l.again(t, db); err != nil {
		t.Fatal(err)
	}
	proof, err := l.Prove(ctx, more[2].entry, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := l.proven(t, proof, more[2]); got.Size != 303 {
		t.Errorf("signed %d", got.Size)
	}
	// The log continues every checkpoint of before.
	reader := &ledger.Reader{At: l.Head().Checkpoint, Fetch: func(path string) ([]byte, error) {
		tile, err := ledger.ParseTilePath(path)
		if err != nil {
			return nil, err
		}
		return l.tile(ctx, tile)
	}}
	for _, old := range heads {
		if err := reader.Extends(old.Checkpoint); err != nil {
			t.Error(err)
		}
	}
}

// Nothing is signed over a database that does not have what was signed.
func TestLogRefusesToGoBack(t *testing.T) {
	ctx := context.Background()
	for _, tt := range []struct {
		name  string
		after int    // records that the restored database gets besides
		spoil string // SQL on the restored database
		want  string
	}{
		{"backup", 0, "", "8 entries were signed, and it has 5"},
		{"backup that went on", 4, "", "the root of its first 8 entries"},
		{"last entry gone", -1, "DELETE FROM log_entries WHERE idx = 7", "8 entries were signed, and it has 7"},
		{"an entry in between gone", -1, "DELETE FROM log_entries WHERE idx = 3", "8 entries were signed, and it has 3"},
		{"another hash", -1, "UPDATE log_entries SET hash = zeroblob(32) WHERE idx = 2", "the root of its first 8 entries"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			db := openFile(t, filepath.Join(dir, "registry.db"))
			l := openTestLog(t, db)
			fill(t, db, 0, 5)
			if err := db.Backup(ctx, filepath.Join(dir, "backup.db")); err != nil {
				t.Fatal(err)
			}
			fill(t, db, 5, 8)
			if _, err := l.Covering(ctx, 7); err != nil {
				t.Fatal(err)
			}
			kept, err := os.ReadFile(l.heads.Path)
			if err != nil {
				t.Fatal(err)
			}
			if tt.after >= 0 {
				db = openFile(t, filepath.Join(dir, "backup.db"))
				fill(t, db, 100, 100+tt.after)
			}
			alter(t, db, tt.spoil)
			if err := l.again(t, db); !errors.Is(err, ErrLogBroken) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
			if !bytes.Equal(l.Checkpoint(), kept) {
				t.Errorf("what was signed is not served any more: %s", l.Checkpoint())
			}
			rec := insert(t, db, record(t, "io.github.acme/z", "1.0.0", 0))
			if proof, err := l.Prove(ctx, rec.entry, nil); !errors.Is(err, ErrLogBroken) {
				t.Errorf("proof %s, %v", proof, err)
			}
			if now, err := os.ReadFile(l.heads.Path); err != nil || !bytes.Equal(now, kept) {
				t.Errorf("what was signed last is replaced by %s, %v", now, err)
			}
		})
	}
}

// The database may go back while the log is open, too.
func TestLogNoticesWhileServing(t *testing.T) {
	for _, spoil := range []string{
		"DELETE FROM log_entries WHERE idx >= 3",
		"UPDATE log_entries SET hash = zeroblob(32) WHERE idx = 4",
	} {
		db := openFile(t, filepath.Join(t.TempDir(), "registry.db"))
		l := openTestLog(t, db)
		fill(t, db, 0, 5)
		if _, err := l.Covering(context.Background(), 4); err != nil {
			t.Fatal(err)
		}
		alter(t, db, spoil)
		if _, err := l.Covering(context.Background(), 5); !errors.Is(err, ErrLogBroken) {
			t.Errorf("%s: %v", spoil, err)
		}
		if l.Head().Size != 5 {
			t.Errorf("%s: signed %d", spoil, l.Head().Size)
		}
	}
}

func TestLogHeadFile(t *testing.T) {
	ctx := context.Background()
	db := openFile(t, filepath.Join(t.TempDir(), "registry.db"))
	l := openTestLog(t, db)
	fill(t, db, 0, 3)
	if _, err := l.Covering(ctx, 2); err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile(l.heads.Path)
	if err != nil {
		t.Fatal(err)
	}
	older, err := ledger.Checkpoint{Origin: "log.example.com", Size: 3}.Sign(testKey(t)) // another key of that name
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"torn": kept[:len(kept)/2], "empty": {}, "of another key": older, "missing": nil} {
		if err := os.Remove(l.heads.Path); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		if content != nil {
			if err := os.WriteFile(l.heads.Path, content, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want := ErrLogBroken
		if name == "of another key" {
			want = ErrLogKey
		}
		if err := l.again(t, db); !errors.Is(err, want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Anybody's copy of the newest checkpoint mends it.
	if err := os.WriteFile(l.heads.Path, kept, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := l.again(t, db); err != nil {
		t.Fatal(err)
	}
	fill(t, db, 3, 4)
	if _, err := l.Covering(ctx, 3); err != nil {
		t.Error(err)
	}
}

// testReplicas lets two logs follow one database.
func testReplicas(t *testing.T, db logged, heads Heads) {
	ctx := context.Background()
	key := testKey(t)
	var logs []*aLog
	for range 2 {
		l := &aLog{key: key}
		var err error
		if l.trust, err = ledger.NewTrust(key.VerifierKey, nil, 0); err != nil {
			t.Fatal(err)
		}
		if l.Log, err = firstLog(db, heads, key); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(l.Log.Close)
		logs = append(logs, l)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	var heads2 []ledger.Checkpoint
	for worker := range 16 {
		wg.Go(func() {
			l := logs[worker%2]
			for n := range 10 {
				rec := record(t, fmt.Sprintf("io.github.acme/s%d", worker), fmt.Sprintf("1.0.%d", n), n)
				got, err := db.Insert(ctx, admission(rec), rec)
				if err != nil {
					t.Error(err)
					return
				}
				proof, err := l.Prove(ctx, got.entry, nil)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				heads2 = append(heads2, l.proven(t, proof, rec).Checkpoint)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	for _, l := range logs {
		head, err := l.Covering(ctx, 159)
		if err != nil || head.Size != 160 {
			t.Fatalf("%d entries, %v", head.Size, err)
		}
	}
	reader := &ledger.Reader{At: logs[0].Head().Checkpoint, Fetch: func(path string) ([]byte, error) {
		tile, err := ledger.ParseTilePath(path)
		if err != nil {
			return nil, err
		}
		return logs[0].tile(ctx, tile)
	}}
	for _, c := range heads2 {
		if err := reader.Extends(c); err != nil {
			t.Error(err)
		}
	}
	if len(entries(t, db)) != 160 {
		t.Error("not one entry for each record")
	}
}

func TestReplicasSQLiteFile(t *testing.T) {
	testReplicas(t, openFile(t, filepath.Join(t.TempDir(), "registry.db")), FileHeads{filepath.Join(t.TempDir(), "head")})
}

func TestReplicasPostgresS3(t *testing.T) {
	db := openServer(t)
	bucket := openS3Test(t)
	testReplicas(t, db, bucket.Heads())
}

func openS3Test(t *testing.T) *S3Blobs {
	b, err := OpenS3Blobs(context.Background(), s3.ForTest(t).URL("log"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// testHeads is the conformance suite of [Heads].
func testHeads(t *testing.T, h Heads) {
	ctx := context.Background()
	if note, tag, err := h.Load(ctx); note != nil || tag != "" || err != nil {
		t.Fatalf("%q %q %v", note, tag, err)
	}
	if _, err := h.Swap(ctx, "x", []byte("a")); !errors.Is(err, ErrMoved) {
		t.Errorf("swapped what is not there: %v", err)
	}
	tag, err := h.Swap(ctx, "", []byte("a"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Swap(ctx, "", []byte("b")); !errors.Is(err, ErrMoved) {
		t.Errorf("swapped nothing for what is there: %v", err)
	}
	if note, got, err := h.Load(ctx); string(note) != "a" || got != tag || err != nil {
		t.Fatalf("%q %q %v", note, got, err)
	}
	var won int
	var mu sync.Mutex
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			_, err := h.Swap(ctx, tag, fmt.Appendf(nil, "c%d", i))
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				won++
			} else if !errors.Is(err, ErrMoved) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if won != 1 {
		t.Errorf("%d swaps of one tag", won)
	}
}

func TestLogKey(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "log.key")
	if _, err := ReadLogKey(path, ""); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	var keys [8]string
	var wg sync.WaitGroup
	for i := range keys {
		wg.Go(func() {
			key, _, err := OpenLogKey(ctx, path, "")
			if err != nil {
				t.Error(err)
				return
			}
			keys[i] = key.VerifierKey
		})
	}
	wg.Wait()
	if len(slices.Compact(keys[:])) != 1 || !strings.HasPrefix(keys[0], "hallmark-log-") {
		t.Errorf("%q", keys)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if _, created, err := OpenLogKey(ctx, path, "other.example.com"); err == nil || created {
		t.Errorf("another origin: %v", err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := OpenLogKey(ctx, path, ""); runtime.GOOS != "windows" && (err == nil || !strings.Contains(err.Error(), "chmod 600 "+path)) {
		t.Errorf("a key that others may read: %v", err)
	}
	seed := filepath.Join(t.TempDir(), "seed")
	for _, content := range []string{strings.Repeat("7", 32), strings.Repeat("37", 32) + "\n"} {
		if err := os.WriteFile(seed, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		key, err := ReadLogKey(seed, "log.example.com")
		if err != nil || key.Name() != "log.example.com" {
			t.Fatal(err)
		}
		if keys[0], keys[1] = keys[1], key.VerifierKey; content[0] == '3' && keys[0] != keys[1] {
			t.Error("one seed in two forms gives two keys")
		}
		if _, err := ReadLogKey(seed, ""); err == nil || !strings.Contains(err.Error(), "has no name") {
			t.Errorf("a seed without a name: %v", err)
		}
	}
	for _, content := range []string{"", "PRIVATE+KEY+x", "PRIVATE+KEY+a+00000000+AAAA\n", "7"} {
		if err := os.WriteFile(seed, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadLogKey(seed, "log.example.com"); err == nil {
			t.Errorf("%q is a key", content)
		}
	}
}

func TestFileHeads(t *testing.T) { testHeads(t, FileHeads{filepath.Join(t.TempDir(), "head")}) }

func TestS3Heads(t *testing.T) { testHeads(t, openS3Test(t).Heads()) }

// faultyHeads fails while it is told to.
type faultyHeads struct {
	Heads
	mu     sync.Mutex
	fault  error
	silent bool // the swap is done and then fails
}

func (h *faultyHeads) Swap(ctx context.Context, tag string, note []byte) (string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.fault != nil && !h.silent {
		return "", h.fault
	}
	tag, err := h.Heads.Swap(ctx, tag, note)
	if h.fault != nil && err == nil {
		err, h.fault = h.fault, nil
	}
	return tag, err
}

// A swap that was done and not reported is found to be ours.
func TestLogAfterAnUnknownSwap(t *testing.T) {
	db := openFile(t, filepath.Join(t.TempDir(), "registry.db"))
	heads := &faultyHeads{Heads: FileHeads{filepath.Join(t.TempDir(), "head")}, silent: true}
	l, err := firstLog(db, heads, testKey(t))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	heads.mu.Lock()
	heads.fault = ErrUnavailable
	heads.mu.Unlock()
	fill(t, db, 0, 3)
	if head, err := l.Covering(context.Background(), 2); err != nil || head.Size != 3 {
		t.Errorf("%d, %v", head.Size, err)
	}
}

// Who waits for a checkpoint is told at once that the disk is full, and the next one gets
// it as soon as there is room.
func TestLogOnAFullDisk(t *testing.T) {
	db := openFile(t, filepath.Join(t.TempDir(), "registry.db"))
	heads := &faultyHeads{Heads: FileHeads{filepath.Join(t.TempDir(), "head")}}
	l, err := firstLog(db, heads, testKey(t))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	set := func(fault error) {
		heads.mu.Lock()
		defer heads.mu.Unlock()
		heads.fault = fault
	}
	set(fmt.Errorf("log head: %w", syscall.ENOSPC))
	fill(t, db, 0, 3)
	ctx, cancel := context.WithTimeout(context.Background(), logWait/2)
	defer cancel()
	for range 2 {
		if _, err := l.Covering(ctx, 2); ctx.Err() != nil || !errors.Is(err, ErrUnavailable) || !noRoom(err) {
			t.Fatalf("after a while: %v", err)
		}
	}
	set(nil)
	if head, err := l.Covering(context.Background(), 2); err != nil || head.Size != 3 {
		t.Errorf("%d, %v", head.Size, err)
	}
}

// serveLog starts a registry with a log.
func serveLog(t *testing.T, change func(*Config)) (*fixture, *aLog) {
	var l *aLog
	f := serve(t, evidence.Report{}, func(c *Config) {
		l = openTestLog(t, c.Records.(*SQLite))
		c.Log = l.Log
		if change != nil {
			change(c)
		}
	})
	return f, l
}

func TestPublishAnswersWithAProof(t *testing.T) {
	ctx := context.Background()
	f, l := serveLog(t, nil)
	for i := range 3 {
		for range 2 { // the second time it is there
			env, err := f.Publish(ctx, document("io.github.acme/notes", fmt.Sprintf("1.0.%d", i)), "")
			if err != nil {
				t.Fatal(err)
			}
			rec, err := f.Config.Records.Get(ctx, "io.github.acme/notes", fmt.Sprintf("1.0.%d", i))
			if err != nil {
				t.Fatal(err)
			}
			if got := l.proven(t, []byte(env.Meta.Integrity.Proof), rec); got.Index != int64(i) || got.Leaf.Publisher != "anonymous" {
				t.Errorf("%+v", got)
			}
			proof, err := f.Proof(ctx, rec.Name, rec.Version)
			if err != nil {
				t.Fatal(err)
			}
			l.proven(t, proof, rec)
			if latest, err := f.Proof(ctx, rec.Name, Latest); err != nil || !bytes.Equal(latest, proof) {
				t.Errorf("latest: %s, %v", latest, err)
			}
		}
	}
	if env, err := f.Get(ctx, "io.github.acme/notes", Latest); err != nil || env.Meta.Integrity.Proof != "" {
		t.Errorf("a record that is read has a proof: %v", err)
	}
	for _, absent := range [][2]string{{"io.github.acme/notes", "2.0.0"}, {"io.github.acme/none", Latest}} {
		var p *Problem
		if _, err := f.Proof(ctx, absent[0], absent[1]); !errors.As(err, &p) || p.Status != http.StatusNotFound {
			t.Errorf("proof of %s: %v", absent, err)
		}
	}
}

func TestLogIsServed(t *testing.T) {
	ctx := context.Background()
	f, l := serveLog(t, nil)
	db := f.Config.Records.(*SQLite)
	records := fill(t, db, 0, 300)
	if _, err := l.Covering(ctx, 299); err != nil {
		t.Fatal(err)
	}
	note, err := f.Checkpoint(ctx)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := l.trust.Open(note)
	if err != nil || signed.Size != 300 {
		t.Fatalf("%+v, %v", signed, err)
	}
	reader := &ledger.Reader{At: signed.Checkpoint, Fetch: func(path string) ([]byte, error) { return f.Tile(ctx, path) }}
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
		"/tile/0/000": 200, "/tile/0/001.p/44": 200, "/tile/0/001.p/7": 200, "/tile/1/000.p/1": 200, "/tile/entries/001.p/44": 200,
		"/tile/0/001": 404, "/tile/0/001.p/45": 404, "/tile/0/002.p/1": 404, "/tile/1/000.p/2": 404, "/tile/2/000.p/1": 404,
		"/tile/entries/001.p/45": 404, "/tile/entries/002": 404, "/tile/0/0": 404, "/tile/data/000": 404, "/tile/8/0/000": 404,
		"/tile/0/%30%30%30": 404, "/tile/0/x000/000": 404, "/tile/0/000.p/0": 404, "/tile/0/000.p/256": 404, "/tile/": 308, "/tile": 307,
	} {
		client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
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
	heads := &faultyHeads{Heads: FileHeads{filepath.Join(t.TempDir(), "head")}}
	f := serve(t, evidence.Report{}, func(c *Config) {
		var err error
		if c.Log, err = firstLog(c.Records.(*SQLite), heads, testKey(t)); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Log.Close)
	})
	set := func(err error) {
		heads.mu.Lock()
		heads.fault = err
		heads.mu.Unlock()
	}
	set(ErrUnavailable)
	short, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if env, err := f.Publish(short, document("io.github.acme/notes", "1.0.0"), ""); err == nil {
		t.Errorf("acknowledged: %+v", env)
	}
	var p *Problem
	if _, err := f.GitHubClient(ctx); !errors.As(err, &p) || p.Status != http.StatusServiceUnavailable {
		t.Errorf("health: %v", err)
	}
	set(nil)
	env, err := f.Publish(ctx, document("io.github.acme/notes", "1.0.0"), "")
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
	f, l := serveLog(t, nil)
	if _, err := f.Publish(ctx, document("io.github.acme/notes", "1.0.0"), ""); err != nil {
		t.Fatal(err)
	}
	db := f.Config.Records.(*SQLite)
	alter(t, db, "DELETE FROM log_entries")
	if _, err := l.Covering(ctx, 1); !errors.Is(err, ErrLogBroken) {
		t.Fatal(err)
	}
	var p *Problem
	if _, err := f.Publish(ctx, document("io.github.acme/notes", "2.0.0"), ""); !errors.As(err, &p) || p.Status != 503 || !strings.Contains(p.Detail, "not the one that was signed") {
		t.Errorf("publish: %v", err)
	}
	if _, err := db.Get(ctx, "io.github.acme/notes", "2.0.0"); !errors.Is(err, ErrNotFound) {
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

// An entry that is not signed yet and goes from the database is noticed: what comes after
// it would wait for ever.
func TestLogNoticesAGap(t *testing.T) {
	db := openFile(t, filepath.Join(t.TempDir(), "registry.db"))
	l := openTestLog(t, db)
	fill(t, db, 0, 5)
	if _, err := l.Covering(context.Background(), 4); err != nil {
		t.Fatal(err)
	}
	l.Close()
	fill(t, db, 5, 8)
	alter(t, db, "DELETE FROM log_entries WHERE idx = 5")
	if err := l.again(t, db); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Covering(context.Background(), 7); !errors.Is(err, ErrLogBroken) || !strings.Contains(err.Error(), "8 entries, and entry 5 is gone") {
		t.Errorf("%v", err)
	}
	if l.Head().Size != 5 {
		t.Errorf("signed %d", l.Head().Size)
	}
}

// Hashes that were read before they were signed, and are others afterwards, as after a
// database lost what it had committed, do not stay in memory.
func TestTileCacheFollows(t *testing.T) {
	var c tileCache
	hashes := make([]tlog.Hash, 5)
	for i := range hashes {
		hashes[i][0] = byte(i + 1)
	}
	c.add(0, 2, hashes[2:]) // from the middle: nothing is known of what is before
	if got := c.get(tilePlace{0, 0}, 0, 0, 1); got != nil {
		t.Errorf("%v is taken for the first hashes", got)
	}
	c.add(0, 0, hashes[:4])
	c.add(0, 2, hashes[2:])
	if got := c.get(tilePlace{0, 0}, 0, 0, 9); !slices.Equal(got, hashes) {
		t.Errorf("%v", got)
	}
	other := tlog.Hash{9}
	c.add(0, 3, []tlog.Hash{other})
	if got := c.get(tilePlace{0, 0}, 0, 0, 9); got != nil {
		t.Errorf("%v stays", got)
	}
	c.add(0, 0, append(hashes[:3:3], other))
	if got := c.get(tilePlace{0, 0}, 2, 0, 1); len(got) != 1 || got[0] != tlog.NodeHash(tlog.NodeHash(hashes[0], hashes[1]), tlog.NodeHash(hashes[2], other)) {
		t.Errorf("%v", got)
	}
}

// A replica that does not know yet what another one signed serves its tiles all the same,
// and lets nobody keep them. What the database lacks is not there.
func TestTilesBeyondTheHead(t *testing.T) {
	ctx := context.Background()
	f, l := serveLog(t, nil)
	db := f.Config.Records.(*SQLite)
	fill(t, db, 0, 3)
	if _, err := l.Covering(ctx, 2); err != nil {
		t.Fatal(err)
	}
	l.Log.Close() // it signs nothing any more
	fill(t, db, 3, 5)
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
	if size, cache := get("/tile/0/000.p/5"); size != 5*tlog.HashSize || cache != cacheCheckpoint {
		t.Errorf("%d, %q", size, cache)
	}
	if size, cache := get("/tile/0/000.p/3"); size != 3*tlog.HashSize || cache != cacheTile {
		t.Errorf("%d, %q", size, cache)
	}
	if status, _ := get("/tile/0/000.p/6"); status != http.StatusNotFound {
		t.Errorf("beyond the database: %d", status)
	}
	alter(t, db, "DELETE FROM log_entries WHERE idx = 1")
	if status, _ := get("/tile/entries/000.p/3"); status != http.StatusNotFound {
		t.Errorf("without one of its entries: %d", status)
	}
}

// After a database was lost in part, the registry goes on with a new log, which has all
// that is left. It is never one with the name of the old.
func TestReplaceLog(t *testing.T) {
	ctx := context.Background()
	db := openFile(t, filepath.Join(t.TempDir(), "registry.db"))
	l := openTestLog(t, db)
	fill(t, db, 0, 5)
	if _, err := l.Covering(ctx, 4); err != nil {
		t.Fatal(err)
	}
	alter(t, db, "DELETE FROM log_entries WHERE idx = 4")
	rows, err := db.LogHashes(ctx, 0, 0, 4)
	if err != nil {
		t.Fatal(err)
	}
	var edge ledger.Edge
	for _, h := range rows {
		edge.Add(h)
	}
	alter(t, db, "UPDATE log_head SET edge = ?", edge.Marshal())
	if err := l.again(t, db); !errors.Is(err, ErrLogBroken) {
		t.Fatal(err)
	}
	l.Close()
	old, kept := l.key, l.Checkpoint()
	secret, _, err := ledger.GenerateKey(rand.Reader, "log-2.example.com")
	if err != nil {
		t.Fatal(err)
	}
	if l.key, err = ledger.ParseKey(secret); err != nil {
		t.Fatal(err)
	}
	thief, err := ledger.NewKey(old.Name(), make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{
		"the name of the old log":      ReplaceLog(ctx, l.heads, thief, old.Name()),
		"a log that was not here":      ReplaceLog(ctx, l.heads, l.key, "other.example.com"),
		"no head":                      ReplaceLog(ctx, FileHeads{filepath.Join(t.TempDir(), "head")}, l.key, old.Name()),
		"nobody says what is replaced": l.again(t, db),
	} {
		if err == nil {
			t.Errorf("%s: taken", what)
		}
	}
	if now, err := os.ReadFile(l.heads.Path); err != nil || !bytes.Equal(now, kept) {
		t.Fatalf("%s, %v", now, err)
	}
	for range 2 { // the flag may stay where it is
		if err := ReplaceLog(ctx, l.heads, l.key, old.Name()); err != nil {
			t.Fatal(err)
		}
		if err := l.again(t, db); err != nil {
			t.Fatal(err)
		}
		if head, err := l.Covering(ctx, 3); err != nil || head.Size < 4 || head.Origin != "log-2.example.com" {
			t.Fatalf("%+v, %v", head, err)
		}
	}
	rec := insert(t, db, record(t, "io.github.acme/z", "1.0.0", 0))
	if _, err := l.Prove(ctx, rec.entry, nil); err != nil {
		t.Error(err)
	}
}
