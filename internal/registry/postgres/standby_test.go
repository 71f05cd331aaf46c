package postgres

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hallmark-mcp/hallmark/e2e/postgres"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/registrytest"
	"github.com/hallmark-mcp/hallmark/internal/registry/servertest"
)

// What a commit wrote that gave up waiting for the standby can be read, and may be lost with
// the primary: it is signed, and so acknowledged, only when the standby has it. That holds
// too where somebody cancels the waiting, which PostgreSQL calls a warning.
func TestPostgresSignsWhatTheStandbyHas(t *testing.T) {
	ctx := context.Background()
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
	// Of several hosts the one is taken that takes writes, whatever their order.
	if _, err := Open(ctx, standby.URL("postgres")); err == nil {
		t.Error("a registry began on a standby")
	}
	reopenPostgres(t, standby.FailoverURL("postgres", primary))
	// The primary first: through a socket the driver sends cancellations to the first host.
	db := reopenPostgres(t, primary.FailoverURL("postgres", standby))
	l := servertest.OpenLog(t, db)
	registrytest.Insert(t, db, registrytest.Record(t, "com.example/a", "1.0.0", 0))
	within(t, func() bool { _, err := l.Covering(ctx, 0); return err == nil })
	db.writeTime = 2 * time.Second // read after an insert came through a channel
	admin, err := pgx.Connect(ctx, primary.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close(ctx)

	// settling counts the attempts of the log, begun after a time, that wait for the standby.
	settling := func(after time.Time, what string) (n int) {
		err := admin.QueryRow(ctx, "SELECT "+what+` FROM pg_stat_activity
			WHERE wait_event = 'SyncRep' AND query LIKE '%pg_logical_emit_message%' AND query_start > $1`, after).Scan(&n)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for n, cancels := range []bool{false, true} {
		var began time.Time
		if err := standby.Stop(); err != nil {
			t.Fatal(err)
		}
		rec := registrytest.Record(t, "com.example/a", "1.0."+string(rune('1'+n)), n+1)
		within(t, func() bool { // it comes as far as to wait for the standby
			_, err := db.Insert(ctx, registrytest.Admission(rec), rec)
			if !errors.Is(err, registry.ErrUnavailable) && !errors.Is(err, context.DeadlineExceeded) &&
				!errors.Is(err, registry.ErrExists) {
				t.Fatalf("without its standby the database took %s: %v", rec.Version, err)
			}
			_, err = db.Get(ctx, rec.Name, rec.Version)
			return err == nil
		})
		if cancels {
			within(t, func() bool { return settling(began, "count(*) FILTER (WHERE pg_cancel_backend(pid))") > 0 })
			if err := admin.QueryRow(ctx, "SELECT clock_timestamp()").Scan(&began); err != nil {
				t.Fatal(err)
			}
		}
		within(t, func() bool { return settling(began, "count(*)") > 0 }) // the log tries, again if it was canceled
		if size := l.Head().Size; size != int64(n)+1 {
			t.Fatalf("%d entries are signed, and the standby has %d", size, n+1)
		}
		if err := standby.Start(); err != nil {
			t.Fatal(err)
		}
		within(t, func() bool { _, err := l.Covering(ctx, int64(n)+1); return err == nil })
	}
}

// within waits until done, which a slow machine is given time for.
func within(t *testing.T, done func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("not within two minutes")
		}
	}
}
