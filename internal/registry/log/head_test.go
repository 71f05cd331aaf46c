package log_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	e2epostgres "github.com/hallmark-mcp/hallmark/e2e/postgres"
	"github.com/hallmark-mcp/hallmark/e2e/s3"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/blobs"
	"github.com/hallmark-mcp/hallmark/internal/registry/log"
	"github.com/hallmark-mcp/hallmark/internal/registry/postgres"
	"github.com/hallmark-mcp/hallmark/internal/registry/registrytest"
	"github.com/hallmark-mcp/hallmark/internal/registry/servertest"
	"github.com/hallmark-mcp/hallmark/ledger"
)

func TestLogHeadFile(t *testing.T) {
	ctx := context.Background()
	db := servertest.OpenSQLite(t, filepath.Join(t.TempDir(), "registry.db"))
	l := servertest.OpenLog(t, db)
	registrytest.Fill(t, db, 0, 3)
	if _, err := l.Covering(ctx, 2); err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile(l.Heads.Path)
	if err != nil {
		t.Fatal(err)
	}
	// another key of that name
	older, err := ledger.Checkpoint{Origin: "log.example.com", Size: 3}.Sign(servertest.NewLogKey(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"torn": kept[:len(kept)/2], "empty": {}, "of another key": older,
		"missing": nil} {
		if err := os.Remove(l.Heads.Path); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		if content != nil {
			if err := os.WriteFile(l.Heads.Path, content, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want := log.ErrBroken
		if name == "of another key" {
			want = log.ErrKey
		}
		if err := l.Again(t, db); !errors.Is(err, want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Anybody's copy of the newest checkpoint mends it.
	if err := os.WriteFile(l.Heads.Path, kept, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := l.Again(t, db); err != nil {
		t.Fatal(err)
	}
	registrytest.Fill(t, db, 3, 4)
	if _, err := l.Covering(ctx, 3); err != nil {
		t.Error(err)
	}
}

// testReplicas lets two logs follow one database.
func testReplicas(t *testing.T, db registrytest.LogStore, heads registry.Heads) {
	ctx := context.Background()
	key := servertest.NewLogKey(t)
	var logs []*servertest.ServedLog
	for range 2 {
		l := &servertest.ServedLog{Key: key}
		var err error
		if l.Trust, err = ledger.NewTrust(key.VerifierKey, nil, 0); err != nil {
			t.Fatal(err)
		}
		if l.Log, err = servertest.OpenFirstLog(db, heads, key); err != nil {
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
				rec := registrytest.Record(t, fmt.Sprintf("io.github.acme/s%d", worker), fmt.Sprintf("1.0.%d", n), n)
				got, err := db.Insert(ctx, registrytest.Admission(rec), rec)
				if err != nil {
					t.Error(err)
					return
				}
				proof, err := l.Prove(ctx, got.Entry, nil)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				heads2 = append(heads2, l.Proven(t, proof, rec).Checkpoint)
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
		return logs[0].Tile(ctx, tile)
	}}
	for _, c := range heads2 {
		if err := reader.CheckExtends(c); err != nil {
			t.Error(err)
		}
	}
	if len(registrytest.Entries(t, db)) != 160 {
		t.Error("not one entry for each record")
	}
}

func TestReplicasSQLiteFile(t *testing.T) {
	testReplicas(t, servertest.OpenSQLite(t, filepath.Join(t.TempDir(), "registry.db")),
		log.FileHeads{Path: filepath.Join(t.TempDir(), "head")})
}

func TestReplicasPostgresS3(t *testing.T) {
	database, err := e2epostgres.ForTest(t).Schema(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	opened, err := postgres.Open(t.Context(), database)
	db := registrytest.RequireOpen(t, opened, err)
	bucket := openS3Test(t)
	testReplicas(t, db, bucket.Heads())
}

func openS3Test(t *testing.T) *blobs.S3 {
	b, err := blobs.OpenS3(context.Background(), s3.ForTest(t).URL("log"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestFileHeads(t *testing.T) {
	registrytest.TestHeads(t, log.FileHeads{Path: filepath.Join(t.TempDir(), "head")})
}

func TestS3Heads(t *testing.T) { registrytest.TestHeads(t, openS3Test(t).Heads()) }

// A swap that was done and not reported is found to be ours.
func TestLogAfterAnUnknownSwap(t *testing.T) {
	db := servertest.OpenSQLite(t, filepath.Join(t.TempDir(), "registry.db"))
	heads := &servertest.FaultyHeads{Heads: log.FileHeads{Path: filepath.Join(t.TempDir(), "head")}, Silent: true}
	l, err := servertest.OpenFirstLog(db, heads, servertest.NewLogKey(t))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	heads.Mu.Lock()
	heads.Fault = registry.ErrUnavailable
	heads.Mu.Unlock()
	registrytest.Fill(t, db, 0, 3)
	if head, err := l.Covering(context.Background(), 2); err != nil || head.Size != 3 {
		t.Errorf("%d, %v", head.Size, err)
	}
}

// Who waits for a checkpoint is told at once that the disk is full, and the next one gets
// it as soon as there is room.
func TestLogOnAFullDisk(t *testing.T) {
	db := servertest.OpenSQLite(t, filepath.Join(t.TempDir(), "registry.db"))
	heads := &servertest.FaultyHeads{Heads: log.FileHeads{Path: filepath.Join(t.TempDir(), "head")}}
	l, err := servertest.OpenFirstLog(db, heads, servertest.NewLogKey(t))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	set := func(fault error) {
		heads.Mu.Lock()
		defer heads.Mu.Unlock()
		heads.Fault = fault
	}
	set(fmt.Errorf("log head: %w", syscall.ENOSPC))
	registrytest.Fill(t, db, 0, 3)
	ctx, cancel := context.WithTimeout(context.Background(), log.LogWait/2)
	defer cancel()
	for range 2 {
		if _, err := l.Covering(ctx, 2); ctx.Err() != nil || !errors.Is(err, registry.ErrUnavailable) ||
			!registry.NoRoom(err) {
			t.Fatalf("after a while: %v", err)
		}
	}
	set(nil)
	if head, err := l.Covering(context.Background(), 2); err != nil || head.Size != 3 {
		t.Errorf("%d, %v", head.Size, err)
	}
}
