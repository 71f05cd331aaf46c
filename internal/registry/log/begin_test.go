package log_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/log"
	"github.com/hallmark-mcp/hallmark/internal/registry/registrytest"
	"github.com/hallmark-mcp/hallmark/internal/registry/servertest"
	"github.com/hallmark-mcp/hallmark/ledger"
)

// entriesInMemory is the log of a database, of hashes only.
type entriesInMemory struct {
	registry.Entries
	hashes []tlog.Hash
	state  registry.LogState
}

// history is n hashes, those from the one with the index from on of another history.
func history(n, from int) (hashes []tlog.Hash) {
	for i := range n {
		other := ""
		if i >= from {
			other = "other"
		}
		hashes = append(hashes, tlog.RecordHash(fmt.Appendf(nil, "%d%s", i, other)))
	}
	return hashes
}

func rootOf(hashes []tlog.Hash) tlog.Hash {
	var edge ledger.Edge
	for _, h := range hashes {
		edge.Add(h)
	}
	return edge.Root()
}

func (e *entriesInMemory) LogState(context.Context) (registry.LogState, error) {
	state := e.state
	state.Size = int64(len(e.hashes))
	return state, nil
}

func (e *entriesInMemory) SetLogState(_ context.Context, state registry.LogState) error {
	e.state = state
	return nil
}

func (e *entriesInMemory) LogHashes(_ context.Context, level int, first int64, n int) ([]tlog.Hash, error) {
	if level > 0 || first >= int64(len(e.hashes)) {
		return nil, nil
	}
	return e.hashes[first:min(int(first)+n, len(e.hashes))], nil
}

func (e *entriesInMemory) LogSettled(context.Context) error { return nil }

// Whatever is lost, put back, damaged or mixed up of a database and the places of the head:
// a key that has signed signs nothing that does not extend what it signed, and what it
// signed last is never replaced by less. The combinations are all of those of a database, a
// place that decides, a copy beside the key, and the flag of a first log.
func TestKeySignsOneHistory(t *testing.T) {
	const signed = 8 // of the one history
	ctx := context.Background()
	key, thief := servertest.NewLogKey(t), servertest.NewLogKey(t)
	trust, err := ledger.NewTrust(key.VerifierKey, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	head := func(key ledger.Key, hashes []tlog.Hash) []byte {
		note, err := ledger.Checkpoint{Origin: key.Name(), Size: int64(len(hashes)), Root: rootOf(hashes)}.Sign(key)
		if err != nil {
			t.Fatal(err)
		}
		return note
	}
	newest := head(key, history(signed, signed))
	const damaged, foreigner, missing = -3, -2, -1 // instead of a size
	type place struct {
		name string
		note []byte
		size int64 // of the one history
	}
	places := []place{
		{"nothing", nil, missing},
		{"newest", newest, signed},
		{"older", head(key, history(5, 5)), 5},
		{"begun", head(key, nil), 0},
		{"another key's", head(thief, history(signed, signed)), foreigner},
		{"one newline more", append(bytes.Clone(newest), '\n'), damaged},
		{"torn", newest[:len(newest)/2], damaged},
		{"emptied", []byte{}, damaged},
	}
	databases := []struct {
		name   string
		hashes []tlog.Hash
		signed bool
	}{
		{"its own", history(signed, signed), true},
		{"its own, grown", history(signed+2, signed+2), true},
		{"moved, with its log", history(signed, signed), false},
		{"an older backup", history(5, 5), true},
		{"an older backup that went on", history(signed+2, 6), true},
		{"restored from an export", history(signed, 0), false},
		{"restored, smaller", history(3, 0), false},
		{"emptied", nil, false},
		{"emptied, that was signed", nil, true},
	}
	// Opens says what has to come of it.
	opens := func(hashes []tlog.Hash, wasSigned bool, decides, beside int64, first bool) bool {
		known := max(decides, beside)
		switch {
		case decides == damaged || beside == damaged || decides == foreigner ||
			beside == foreigner && decides == missing:
			return false
		case known == missing:
			return first && !wasSigned
		case first && (known > 0 || beside == foreigner):
			return false
		case decides == missing && known != int64(len(hashes)) && (known > 0 || wasSigned):
			return false
		}
		return int64(len(hashes)) >= known && rootOf(hashes[:known]) == rootOf(history(int(known), signed))
	}
	opened, refused := 0, 0
	for _, db := range databases {
		for _, decides := range places {
			for _, beside := range append(places[:len(places):len(places)], place{"no such place", nil, missing}) {
				for _, first := range []bool{false, true} {
					name := fmt.Sprintf("database %s, head %s, beside the key %s, first log %t", db.name, decides.name,
						beside.name, first)
					dir := t.TempDir()
					bucket, copied := log.FileHeads{Path: filepath.Join(dir, "bucket")},
						log.HeadsOf(filepath.Join(dir, "log.key"))
					for place, note := range map[string][]byte{bucket.Path: decides.note, copied.Path: beside.note} {
						if note != nil {
							if err := os.WriteFile(place, note, 0o644); err != nil {
								t.Fatal(err)
							}
						}
					}
					var heads registry.Heads = log.BesideHeads{Heads: bucket, Beside: copied}
					if beside.name == "no such place" {
						heads = bucket
					}
					entries := &entriesInMemory{hashes: db.hashes, state: registry.LogState{Signed: db.signed}}
					var err error
					if first {
						err = log.Begin(ctx, entries, heads, key)
					}
					var l *log.Log
					if err == nil {
						l, err = log.Open(ctx, entries, heads, key, nil)
					}
					if l != nil {
						if err == nil {
							_, err = l.Covering(ctx, int64(len(db.hashes))-1)
						}
						l.Close()
					}
					if err == nil {
						opened++
					} else {
						refused++
					}
					if want := opens(db.hashes, db.signed, decides.size, beside.size, first); (err == nil) != want {
						t.Errorf("%s: opens %t, %v", name, !want, err)
					}
					if l != nil && (errors.Is(err, log.ErrHead) || errors.Is(err, log.ErrElsewhere)) {
						t.Errorf("%s: is served, %v", name, err)
					}
					for _, was := range []struct {
						at   log.FileHeads
						what place
					}{{bucket, decides}, {copied, beside}} {
						now, _, loadErr := was.at.Load(ctx)
						if loadErr != nil {
							t.Fatal(loadErr)
						}
						if err != nil && !bytes.Equal(now, was.what.note) { // it is for a person to look at
							t.Errorf("%s: %s was replaced", name, was.at)
						}
						is, openErr := trust.Open(now)
						if openErr != nil || bytes.Equal(now, was.what.note) {
							continue
						}
						if is.Size < max(decides.size, beside.size) || is.Size > int64(len(db.hashes)) ||
							is.Root != rootOf(db.hashes[:is.Size]) {
							t.Errorf("%s: %s has %d entries", name, was.at, is.Size)
						}
					}
				}
			}
		}
	}
	t.Logf("%d opened, %d refused", opened, refused)
	if opened < 50 || refused < 500 {
		t.Errorf("%d opened, %d refused", opened, refused)
	}
}

// TestKeyKeepsToWhatWitnessesSaw: what the key signed last may stand with the signatures of
// witnesses only, in the database, because its head was set back. It is gone on from, and nothing
// is signed beside it.
func TestKeyKeepsToWhatWitnessesSaw(t *testing.T) {
	ctx := context.Background()
	key := servertest.NewLogKey(t)
	trust, err := ledger.NewTrust(key.VerifierKey, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	head := func(n int) []byte {
		hashes := history(n, n)
		note, err := ledger.Checkpoint{Origin: key.Name(), Size: int64(n), Root: rootOf(hashes)}.Sign(key)
		if err != nil {
			t.Fatal(err)
		}
		return note
	}
	for name, c := range map[string]struct {
		hashes   []tlog.Hash
		cosigned int
		ok       bool
	}{
		"its history":              {history(10, 10), 8, true},
		"another from the head on": {history(10, 5), 8, false},
		"another from there on":    {history(10, 8), 8, true},
		"an older backup":          {history(6, 6), 8, false},
		"older than the head":      {history(10, 5), 4, true},
	} {
		at := log.HeadsOf(filepath.Join(t.TempDir(), "log.key"))
		if err := os.WriteFile(at.Path, head(5), 0o644); err != nil {
			t.Fatal(err)
		}
		l, err := log.Open(ctx,
			&entriesInMemory{hashes: c.hashes, state: registry.LogState{Signed: true, Cosigned: head(c.cosigned)}}, at,
			key, nil)
		if l != nil {
			if err == nil {
				_, err = l.Covering(ctx, int64(len(c.hashes))-1)
			}
			l.Close()
		}
		if (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
		note, _, loadErr := at.Load(ctx)
		now, openErr := trust.Open(note)
		if loadErr != nil || openErr != nil || c.ok != (now.Size == int64(len(c.hashes))) || !c.ok && now.Size != 5 {
			t.Errorf("%s: the head has %d entries, %v, %v", name, now.Size, loadErr, openErr)
		}
	}
}

// A key that is created has a head from the first moment on that it has a name, wherever the
// process that creates it is killed.
func TestNewLogIsNeverWithoutItsHead(t *testing.T) {
	ctx := context.Background()
	may := func() error { return nil }
	path := filepath.Join(t.TempDir(), "log.key")
	var keys [8]string
	var wg sync.WaitGroup
	for i := range keys {
		wg.Go(func() {
			key, _, err := log.OpenNew(ctx, path, "log.example.com", may)
			if err != nil {
				t.Error(err)
				return
			}
			keys[i] = key.VerifierKey
		})
	}
	wg.Wait()
	if len(slices.Compact(keys[:])) != 1 {
		t.Fatalf("%q", keys)
	}
	key, created, err := log.OpenNew(ctx, path, "log.example.com", func() error { return errors.New("asked") })
	if err != nil || created {
		t.Fatalf("created again: %v", err)
	}
	first, _, err := log.HeadsOf(path).Load(ctx)
	if err != nil || log.SignedBy(first, key) != nil {
		t.Fatalf("%s, %v", first, err)
	}
	secret, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	other, err := log.EmptyLog(servertest.NewLogKey(t))
	if err != nil {
		t.Fatal(err)
	}
	// What a kill leaves after each step, and what is there when a key is gone.
	for _, tt := range []struct {
		name          string
		unnamed, head []byte
		created, same bool
	}{
		{"before the key", nil, nil, true, false},
		{"before the head", secret, nil, true, false},
		{"before the name", secret, first, true, true},
		{"the key is gone", nil, first, false, false},
		{"another one's head", secret, other, false, false},
		{"a head that is torn", secret, first[:9], false, false},
	} {
		path := filepath.Join(t.TempDir(), "log.key")
		for name, content := range map[string][]byte{path + ".new": tt.unnamed, path + ".head": tt.head} {
			if content != nil {
				if err := os.WriteFile(name, content, 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		got, created, err := log.OpenNew(ctx, path, "log.example.com", may)
		if created != tt.created || (err == nil) != tt.created || tt.same != (got.VerifierKey == key.VerifierKey) {
			t.Errorf("%s: created %t, the same %t, %v", tt.name, created, got.VerifierKey == key.VerifierKey, err)
		}
		head, _, err := log.HeadsOf(path).Load(ctx)
		if err != nil || tt.created && log.SignedBy(head, got) != nil || !tt.created && !bytes.Equal(head, tt.head) {
			t.Errorf("%s: the head is %s, %v", tt.name, head, err)
		}
		if _, err := os.Stat(path); (err == nil) != tt.created {
			t.Errorf("%s: the key: %v", tt.name, err)
		}
	}
	// Who may not begin leaves nothing behind.
	path = filepath.Join(t.TempDir(), "log.key")
	if _, _, err := log.OpenNew(ctx, path, "", func() error { return log.ErrKey }); !errors.Is(err, log.ErrKey) {
		t.Error(err)
	}
	for _, name := range []string{path, path + ".new", path + ".head"} {
		if _, err := os.Stat(name); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// With a bucket what was signed is beside the key too, and a copy that cannot be written
// stops nothing.
func TestHeadGoesWithTheKey(t *testing.T) {
	ctx := context.Background()
	db := servertest.OpenSQLite(t, filepath.Join(t.TempDir(), "registry.db"))
	dir := t.TempDir()
	heads := log.BesideHeads{Heads: log.FileHeads{Path: filepath.Join(dir, "bucket")},
		Beside: log.HeadsOf(filepath.Join(dir, "log.key"))}
	key := servertest.NewLogKey(t)
	l, err := servertest.OpenFirstLog(db, heads, key)
	if err != nil {
		t.Fatal(err)
	}
	registrytest.Fill(t, db, 0, 3)
	head, err := l.Covering(ctx, 2)
	if err != nil {
		t.Fatal(err)
	}
	l.Close() // the copy is written after those who wait were told
	if note, _, err := heads.Beside.Load(ctx); err != nil || !bytes.Equal(note, head.Note) {
		t.Errorf("beside the key is %s, %v", note, err)
	}
	// The bucket goes back to what it had before: the key knows better.
	first, err := log.EmptyLog(key)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "bucket"), first, 0o600); err != nil {
		t.Fatal(err)
	}
	if l, err = log.Open(ctx, db, heads, key, nil); err != nil {
		t.Fatal(err)
	}
	if note, _, err := heads.Load(ctx); err != nil || !bytes.Equal(note, head.Note) {
		t.Errorf("the bucket has %s, %v", note, err)
	}
	l.Close()
	heads.Beside = log.FileHeads{Path: filepath.Join(dir, "none", "log.key.head")}
	if l, err = log.Open(ctx, db, heads, key, nil); err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	registrytest.Fill(t, db, 3, 4)
	if _, err := l.Covering(ctx, 3); err != nil {
		t.Error(err)
	}
}
