package registry

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hallmark-mcp/hallmark/e2e/postgres"
)

// pair is a PostgreSQL of which every commit waits for the standby.
func pair(t *testing.T) (primary, standby *postgres.Server) {
	t.Helper()
	primary = postgres.ForTest(t)
	standby, err := primary.Standby()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { standby.Close() })
	return primary, standby
}

// What a commit wrote that gave up waiting for the standby can be read, and may be lost with
// the primary: it is signed, and so acknowledged, only when the standby has it. That holds
// too where somebody cancels the waiting, which PostgreSQL calls a warning.
func TestPostgresSignsWhatTheStandbyHas(t *testing.T) {
	ctx := context.Background()
	primary, standby := pair(t)
	db := reopenPostgres(t, primary.URL("postgres"))
	l := openTestLog(t, db)
	insert(t, db, record(t, "com.example/a", "1.0.0", 0))
	if _, err := l.Covering(ctx, 0); err != nil {
		t.Fatal(err)
	}
	db.writeTime = time.Second // read after an insert came through a channel
	admin, err := pgx.Connect(ctx, primary.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close(ctx)

	for n, cancels := range []bool{false, true} {
		if err := standby.Stop(); err != nil {
			t.Fatal(err)
		}
		rec := record(t, "com.example/a", "1.0."+string(rune('1'+n)), n+1)
		if _, err := db.Insert(ctx, admission(rec), rec); !errors.Is(err, ErrUnavailable) && !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("without its standby the database took %s: %v", rec.Version, err)
		}
		for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
			if _, err := db.Get(ctx, rec.Name, rec.Version); err == nil {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("%s is nowhere, so that this shows nothing", rec.Version)
			}
		}
		cancelled := 0
		for end := time.Now().Add(3 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			if !cancels {
				continue
			}
			var now int
			if err := admin.QueryRow(ctx, "SELECT count(*) FILTER (WHERE pg_cancel_backend(pid)) FROM pg_stat_activity WHERE wait_event = 'SyncRep'").Scan(&now); err != nil {
				t.Fatal(err)
			}
			cancelled += now
		}
		if cancels && cancelled == 0 {
			t.Error("nobody waited")
		}
		if size := l.Head().Size; size != int64(n)+1 {
			t.Fatalf("%d entries are signed, and the standby has %d", size, n+1)
		}
		if err := standby.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Covering(ctx, int64(n)+1); err != nil {
			t.Fatal(err)
		}
	}
}

// Of several hosts the one is taken that takes writes, whatever their order.
func TestPostgresPassesOverAStandby(t *testing.T) {
	ctx := context.Background()
	primary, standby := pair(t)
	if _, err := OpenPostgres(ctx, standby.URL("postgres")); err == nil {
		t.Error("a registry began on a standby")
	}
	db := reopenPostgres(t, standby.FailoverURL("postgres", primary))
	insert(t, db, record(t, "com.example/a", "1.0.0", 0))
}
