package registrytest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/ledger"
)

// LogStore is a database with all that appends to its log.
type LogStore interface {
	registry.Records
	registry.Statuses
	registry.Findings
	registry.Imports
	registry.Entries
}

// Entries reads and parses the whole log, and checks that its hashes fit its
// entries.
func Entries(t testing.TB, db registry.Entries) []ledger.Leaf {
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
		out = append(out,
			strings.TrimSpace(
				fmt.Sprintf("%s %s %s by %s at %s", l.Kind, l.Subject(), l.Status, l.Publisher,
					l.At.Format(time.RFC3339))))
	}
	return out
}

// TestEntries is the conformance suite of [registry.Entries].
func TestEntries(t *testing.T, open func(*testing.T) LogStore) {
	t.Run("what appends", func(t *testing.T) { testLogAppended(t, open(t)) })
	t.Run("many at once", func(t *testing.T) { testLogRace(t, open(t)) })
	t.Run("subtrees", func(t *testing.T) { testLogSubtrees(t, open(t)) })
	t.Run("state", func(t *testing.T) { testLogState(t, open(t)) })
}

// testLogAppended checks the entry of everything that appends one, and that nothing else does.
func testLogAppended(t *testing.T, db LogStore) {
	ctx := context.Background()
	a, b := appendToLog(t, db)
	checkAppended(t, Entries(t, db), a, b)
	checkLogIndex(t, db)
	checkLogLater(t, db)
	if hashes, err := db.LogHashes(ctx, 0, 6, 1); err != nil || len(hashes) != 1 {
		t.Errorf("%d hashes, %v", len(hashes), err)
	}
	if hashes, err := db.LogHashes(ctx, 0, 12, 1); err != nil || len(hashes) != 0 {
		t.Errorf("%d hashes after the end, %v", len(hashes), err)
	}
}

// appendToLog does everything that appends to the log, and tries what does not. It returns a record that was published,
// and one that was imported.
func appendToLog(t *testing.T, db LogStore) (a, b registry.Record) {
	t.Helper()
	ctx := context.Background()
	a = Record(t, "io.github.acme/a", "1.0.0", 0)
	a.Publisher = "github-at:acme"
	if got := Insert(t, db, a); got.Entry != 0 {
		t.Errorf("entry %d", got.Entry)
	}
	if _, err := db.Insert(ctx, Admission(a), a); !errors.Is(err, registry.ErrExists) {
		t.Fatal(err)
	}
	b = Record(t, "io.github.acme/b", "1.0.0", 1)
	b.Origin, b.ImportedAt, b.Status, b.StatusMessage = "https://registry.example.com", Epoch.Add(time.Hour),
		registry.Deprecated, "old"
	b.StatusChangedAt = Epoch
	if got := Insert(t, db, b); got.Entry != 1 {
		t.Errorf("entry %d", got.Entry)
	}
	Insert(t, db, Record(t, "io.github.acme/a", "2.0.0", 2))
	if _, _, err := db.SetStatus(ctx, "io.github.acme/a", "",
		registry.Change{Status: registry.Deleted, Message: "bad", At: Epoch.Add(2 * time.Hour),
			By: "dns:acme"}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := db.SetStatus(ctx, "io.github.acme/a", "1.0.0",
		registry.Change{Status: registry.Deleted, Message: "bad", At: Epoch.Add(3 * time.Hour)}); !errors.Is(err,
		registry.ErrUnchanged) {
		t.Fatal(err)
	}
	finding := registry.Finding{Name: "io.github.acme/a", Version: "1.0.0", At: Epoch.Add(4 * time.Hour),
		Build: "x", Evidence: json.RawMessage(`[ {"b": 1, "a": 2} ]`)}
	if err := db.AddFinding(ctx, finding); err != nil {
		t.Fatal(err)
	}
	if err := db.AddFinding(ctx,
		registry.Finding{Name: "io.github.acme/none", Version: "1", At: Epoch}); !errors.Is(err,
		registry.ErrNotFound) {
		t.Fatal(err)
	}
	upstream := b
	upstream.Status, upstream.StatusMessage = registry.Active, ""
	upstream.StatusChangedAt, upstream.UpdatedAt = Epoch.Add(5*time.Hour), Epoch.Add(5*time.Hour)
	upstream.ImportedAt = Epoch.Add(6 * time.Hour)
	for _, want := range []bool{true, false} {
		if followed, err := db.Follow(ctx, upstream); err != nil || followed != want {
			t.Fatalf("followed %t, %v", followed, err)
		}
	}
	return a, b
}

// checkAppended checks the entries of what [appendToLog] did.
func checkAppended(t *testing.T, got []ledger.Leaf, a, b registry.Record) {
	t.Helper()
	at := func(hours int) string {
		return Epoch.Truncate(time.Second).Add(time.Duration(hours) * time.Hour).Format(time.RFC3339)
	}
	want := []string{
		"server server io.github.acme/a@1.0.0  by github-at:acme at " + at(0),
		"server server io.github.acme/b@1.0.0  by import:https://registry.example.com at " + at(1),
		"status server io.github.acme/b@1.0.0 deprecated by import:https://registry.example.com at " + at(1),
		"server server io.github.acme/a@2.0.0  by anonymous at " +
			Epoch.Truncate(time.Second).Add(2*time.Minute).Format(time.RFC3339),
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
	for i, message := range map[int]string{2: `{"message":"old","status":"deprecated"}`,
		4: `{"message":"bad","status":"deleted"}`,
		6: `[{"a":2,"b":1}]`, 7: `{"message":"","status":"active"}`} {
		if !evidence.Same(digest.FromBytes([]byte(message)), got[i].Document) {
			t.Errorf("entry %d is not of %s", i, message)
		}
	}
}

// checkLogIndex checks that the entry of a record is found by its name, and no other entry.
func checkLogIndex(t *testing.T, db LogStore) {
	t.Helper()
	ctx := context.Background()
	for name, want := range map[string]int64{"io.github.acme/a": 0, "io.github.acme/b": 1} {
		if i, err := db.LogIndex(ctx, ledger.Server, name, "1.0.0"); err != nil || i != want {
			t.Errorf("%s: entry %d, %v", name, i, err)
		}
	}
	for _, kind := range []ledger.Kind{ledger.Status, ledger.Finding, ledger.Facet} {
		if i, err := db.LogIndex(ctx, kind, "io.github.acme/a", "1.0.0"); !errors.Is(err, registry.ErrNotFound) {
			t.Errorf("%s: entry %d, %v", kind, i, err)
		}
	}
}

// checkLogLater checks the entries about a record after its own. A finding stays among them whatever follows it.
func checkLogLater(t *testing.T, db LogStore) {
	t.Helper()
	ctx := context.Background()
	for _, of := range []struct {
		kind          ledger.Kind
		name, version string
		later         []int64
	}{
		{ledger.Server, "io.github.acme/a", "1.0.0", []int64{5, 6}},
		{ledger.Server, "io.github.acme/b", "1.0.0", []int64{2, 7}},
		{ledger.Facet, "io.github.acme/a", "1.0.0", nil}, {ledger.Server, "io.github.acme/none", "1.0.0", nil},
	} {
		if later, err := db.LogLater(ctx, of.kind, of.name, of.version, 2); err != nil ||
			!slices.Equal(later, of.later) {
			t.Errorf("%s %s@%s: %v, %v", of.kind, of.name, of.version, later, err)
		}
	}
	// Many changes of a status leave the finding where it is seen.
	for i := range 4 {
		c := registry.Change{Status: []registry.Status{registry.Active, registry.Deprecated}[i%2],
			At: Epoch.Add(time.Duration(7+i) * time.Hour)}
		if _, _, err := db.SetStatus(ctx, "io.github.acme/a", "1.0.0", c); err != nil {
			t.Fatal(err)
		}
	}
	if later, err := db.LogLater(ctx, ledger.Server, "io.github.acme/a", "1.0.0", 2); err != nil ||
		!slices.Equal(later, []int64{6, 10, 11}) {
		t.Errorf("%v, %v", later, err)
	}
}

// testLogRace checks that each of many records inserted at the same time has an entry of its own.
func testLogRace(t *testing.T, db LogStore) {
	ctx := context.Background()
	var wg sync.WaitGroup
	var mu sync.Mutex
	told := map[string]int64{}
	for worker := range 32 {
		wg.Go(func() {
			for n := range 10 {
				// Each version is tried by two.
				rec := Record(t, fmt.Sprintf("io.github.acme/s%d", worker/2), fmt.Sprintf("1.0.%d", n), n)
				got, err := db.Insert(ctx, Admission(rec), rec)
				if errors.Is(err, registry.ErrExists) {
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
				told[rec.Subject()] = got.Entry
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	leaves := Entries(t, db)
	if len(leaves) != 160 || len(told) != 160 {
		t.Fatalf("%d entries, %d inserted", len(leaves), len(told))
	}
	for subject, i := range told {
		if got := leaves[i].Name + "@" + leaves[i].Version; got != subject {
			t.Errorf("%s was told entry %d, which is %s", subject, i, got)
		}
	}
}

// testLogSubtrees checks the hashes of complete subtrees.
func testLogSubtrees(t *testing.T, db LogStore) {
	ctx := context.Background()
	for n := range 3 {
		for v := range 100 {
			Insert(t, db, Record(t, fmt.Sprintf("io.github.acme/s%d", n), fmt.Sprintf("1.0.%d", v), v))
		}
	}
	// One transaction that completes a tile, and one that completes another.
	for n, status := range []registry.Status{registry.Deprecated, registry.Active, registry.Deprecated} {
		if _, _, err := db.SetStatus(ctx, "io.github.acme/s0", "",
			registry.Change{Status: status, At: Epoch.Add(time.Duration(n) * time.Hour)}); err != nil {
			t.Fatal(err)
		}
	}
	leaves := Entries(t, db)
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
}

// testLogState checks that the state of the log is kept.
func testLogState(t *testing.T, db LogStore) {
	ctx := context.Background()
	if state, err := db.LogState(ctx); err != nil || state.Size != 0 || state.Signed || state.Cosigned != nil {
		t.Fatalf("%+v, %v", state, err)
	}
	Insert(t, db, Record(t, "io.github.acme/a", "1.0.0", 0))
	if err := db.SetLogState(ctx, registry.LogState{Signed: true, Cosigned: []byte("a\nb\n")}); err != nil {
		t.Fatal(err)
	}
	if state, err := db.LogState(ctx); err != nil || state.Size != 1 || !state.Signed ||
		string(state.Cosigned) != "a\nb\n" {
		t.Fatalf("%+v, %v", state, err)
	}
}

// Records of before the log get their entries once, however many there are, and those
// that have one no other.
func TestFill(t *testing.T, db LogStore, exec func(string) error, fill func() error) {
	ctx := context.Background()
	for n := range 5 {
		for v := range 5 {
			rec := Record(t, fmt.Sprintf("io.github.acme/s%d", n), fmt.Sprintf("1.0.%d", v), v)
			if v == 4 {
				rec.Origin, rec.ImportedAt, rec.Status, rec.StatusChangedAt = "https://registry.example.com", Epoch,
					registry.Deleted, Epoch
			}
			Insert(t, db, rec)
		}
	}
	before := Entries(t, db)
	if len(before) != 30 {
		t.Fatalf("%d entries", len(before))
	}
	for _, statement := range []string{"DELETE FROM log_entries", "DELETE FROM log_nodes",
		"UPDATE log_head SET complete = COMPLETE, edge = EDGE"} {
		if err := exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := fill(); err != nil {
			t.Fatal(err)
		}
		got := Entries(t, db)
		if len(got) != 30 {
			t.Fatalf("%d entries", len(got))
		}
		for _, l := range got {
			if want := map[bool]string{true: "import:https://registry.example.com",
				false: registry.BeforeTheLog}[l.Version == "1.0.4"]; l.Publisher != want {
				t.Errorf("%s is by %q", l.Subject(), l.Publisher)
			}
			if i, err := db.LogIndex(ctx, ledger.Server, l.Name, l.Version); err != nil ||
				got[i].Document.String() != l.Document.String() && l.Kind == ledger.Server {
				t.Errorf("%s: %d, %v", l.Subject(), i, err)
			}
		}
	}
}
