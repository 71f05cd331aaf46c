package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hallmark-mcp/hallmark/e2e/hang"
	"github.com/hallmark-mcp/hallmark/e2e/postgres"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/registrytest"
)

// cluster is one PostgreSQL for the tests of this package that leave it running.
var cluster *postgres.Server

func TestMain(m *testing.M) {
	code := m.Run()
	if cluster != nil {
		cluster.Close()
	}
	os.Exit(code)
}

func startCluster(t testing.TB) *postgres.Server {
	t.Helper()
	if cluster == nil {
		var err error
		if cluster, err = postgres.Create(); err != nil {
			if os.Getenv("CI") != "true" {
				t.Skip(err)
			}
			t.Fatal(err)
		}
	}
	return cluster
}

// openPostgresTest gives empty records in a database of their own.
func openPostgresTest(t testing.TB) *DB {
	t.Helper()
	url, err := startCluster(t).Schema(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return reopenPostgres(t, url)
}

func reopenPostgres(t testing.TB, url string) *DB {
	t.Helper()
	db, err := Open(context.Background(), url)
	return registrytest.RequireOpen(t, db, err)
}

func TestPostgresRecords(t *testing.T) {
	registrytest.TestRecords(t, func(t *testing.T) registry.Records { return openPostgresTest(t) })
}

// The same, with no filter so selective that its index is used.
func TestPostgresRecordsScanned(t *testing.T) {
	registrytest.TestRecords(t, func(t *testing.T) registry.Records {
		db := openPostgresTest(t)
		db.fewNames, db.fewUpdates = 0, 0
		return db
	})
}

// Settings that make commits forget what they acknowledge do not hold here.
func TestPostgresSettings(t *testing.T) {
	ctx := context.Background()
	url, err := startCluster(t).Schema(ctx)
	if err != nil {
		t.Fatal(err)
	}
	db := reopenPostgres(t, url+"&synchronous_commit=off")
	var got string
	if err := db.pool.QueryRow(ctx, "SHOW synchronous_commit").Scan(&got); err != nil || got != "on" {
		t.Errorf("synchronous_commit is %s (%v)", got, err)
	}
	if n := db.pool.Config().MaxConns; n != postgresConns {
		t.Errorf("%d connections at most", n)
	}
	if n := reopenPostgres(t, url+"&pool_max_conns=3").pool.Config().MaxConns; n != 3 {
		t.Errorf("%d connections at most, 3 were asked for", n)
	}
}

// Several registries may start on an empty database at once.
func TestPostgresMigratesOnce(t *testing.T) {
	ctx := context.Background()
	url, err := startCluster(t).Schema(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			db, err := Open(ctx, url)
			if err != nil {
				t.Error(err)
				return
			}
			db.Close()
		})
	}
	wg.Wait()
}

// A database of another program, or of a newer build, is left alone; and no error
// tells a password.
func TestPostgresForeignDatabases(t *testing.T) {
	ctx := context.Background()
	for name, c := range map[string]struct{ statements, want string }{
		"newer": {"CREATE TABLE hallmark_schema (version integer); INSERT INTO hallmark_schema VALUES (99)",
			"schema version 99 is newer"},
		"another program": {"CREATE TABLE bookmarks (url text)", "another program"},
		"the same table":  {"CREATE TABLE servers (name text)", "another program"},
	} {
		url, err := startCluster(t).Schema(ctx)
		if err != nil {
			t.Fatal(err)
		}
		conn, err := pgx.Connect(ctx, url)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Exec(ctx, c.statements); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(ctx, url); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
		var tables int
		if err := conn.QueryRow(ctx,
			"SELECT count(*) FROM pg_tables WHERE schemaname = current_schema()").Scan(&tables); err != nil ||
			tables != 1 {
			t.Errorf("%s: %d tables afterwards (%v)", name, tables, err)
		}
		conn.Close(ctx)
	}
	for _, bad := range []string{"postgres://u:secret@127.0.0.1:1/db?connect_timeout=2",
		"postgres://u:secret@127.0.0.1:port/db",
		"postgres://u:secret@127.0.0.1:1/db?default_query_exec_mode=simple_protocol"} {
		if _, err := Open(ctx, bad); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// Two processes insert into one database: what is latest, and how many versions there
// are, stays right.
func TestPostgresTwoProcesses(t *testing.T) {
	url, err := startCluster(t).Schema(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	a, b := reopenPostgres(t, url), reopenPostgres(t, url)
	var wg sync.WaitGroup
	for i := range 60 {
		wg.Go(func() {
			registrytest.Insert(t, []*DB{a, b}[i%2],
				registrytest.Record(t, "io.github.o/a", fmt.Sprintf("1.0.%d", i), i))
		})
	}
	wg.Wait()
	registrytest.Equal(t, "latest", registrytest.All(t, a, registry.Query{Version: registry.Latest}),
		[]string{"io.github.o/a@1.0.59"})
	var versions int
	if err := b.pool.QueryRow(context.Background(), "SELECT versions FROM names").Scan(&versions); err != nil ||
		versions != 60 {
		t.Errorf("%d versions (%v)", versions, err)
	}
}

// The first record of a batch that the database refuses does not take others with it.
func TestPostgresOneOfABatch(t *testing.T) {
	db := openPostgresTest(t)
	bad := registrytest.Record(t, "io.github.o/bad", "1.0.0", 0)
	bad.StatusMessage = strings.Repeat("x", 501)
	good := registrytest.Record(t, "io.github.o/good", "1.0.0", 0)
	var batch []*insertion
	for _, rec := range []registry.Record{bad, good} {
		batch = append(batch, &insertion{rec: rec.Normal(), done: make(chan insertResult, 1)})
	}
	db.insert(batch)
	if got := <-batch[0].done; got.err == nil || errors.Is(got.err, registry.ErrUnavailable) {
		t.Errorf("the bad one: %v", got.err)
	}
	if got := <-batch[1].done; got.err != nil {
		t.Errorf("the good one: %v", got.err)
	}
	registrytest.Equal(t, "list", registrytest.All(t, db, registry.Query{}), []string{"io.github.o/good@1.0.0"})
}

func TestPostgresVersionsHaveALimit(t *testing.T) {
	db := openPostgresTest(t)
	ctx := context.Background()
	registrytest.Insert(t, db, registrytest.Record(t, "io.github.o/a", "1.0.0", 0))
	if _, err := db.pool.Exec(ctx, "UPDATE names SET versions = $1", registry.MaxVersions-1); err != nil {
		t.Fatal(err)
	}
	var batch []*insertion
	for _, version := range []string{"1.0.1", "1.0.2", "1.0.1"} { // in one transaction
		batch = append(batch,
			&insertion{rec: registrytest.Record(t, "io.github.o/a", version, 0).Normal(),
				done: make(chan insertResult, 1)})
	}
	db.insert(batch)
	for i, want := range []error{nil, registry.ErrTooMany, registry.ErrExists} {
		if got := <-batch[i].done; !errors.Is(got.err, want) {
			t.Errorf("insert %d: %v, want %v", i, got.err, want)
		}
	}
}

// A database that is away is ErrUnavailable, and is there again afterwards without a
// connection of before the restart being noticed.
func TestPostgresAway(t *testing.T) {
	server := postgres.ForTest(t)
	ctx := context.Background()
	db, err := Open(ctx, server.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	rec := registrytest.Insert(t, db, registrytest.Record(t, "io.github.o/a", "1.0.0", 0))
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	other := registrytest.Record(t, "io.github.o/b", "1.0.0", 0)
	_, getting := db.Get(ctx, rec.Name, rec.Version)
	_, _, listing := db.List(ctx, registry.Query{})
	_, _, _, paging := db.AppendPage(ctx, nil, registry.Query{})
	_, inserting := db.Insert(ctx, registrytest.Admission(other), other)
	for what, err := range map[string]error{"get": getting, "list": listing, "page": paging, "insert": inserting} {
		if !errors.Is(err, registry.ErrUnavailable) {
			t.Errorf("%s: %v, want ErrUnavailable", what, err)
		}
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	for range 2 * postgresConns {
		if _, err := db.Get(ctx, rec.Name, rec.Version); err != nil {
			t.Fatal(err)
		}
	}
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	registrytest.Insert(t, db, other)
	registrytest.Equal(t, "list", registrytest.All(t, db, registry.Query{}),
		[]string{"io.github.o/a@1.0.0", "io.github.o/b@1.0.0"})
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Insert(ctx, registrytest.Admission(rec), rec); !errors.Is(err, registry.ErrUnavailable) {
		t.Errorf("insert after the end: %v", err)
	}
}

// A database that is silent, as behind a network that broke, is one that is away.
func TestPostgresSilent(t *testing.T) {
	server := postgres.ForTest(t)
	rec := registrytest.Record(t, "io.github.o/a", "1.0.0", 0)
	registrytest.Insert(t, reopenPostgres(t, server.URL("postgres")), rec)
	to, err := url.Parse(server.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	var silent atomic.Bool
	go func() {
		for {
			front, err := listener.Accept()
			if err != nil {
				return
			}
			back, err := net.Dial("unix", filepath.Join(to.Query().Get("host"), ".s.PGSQL.5432"))
			if err != nil {
				t.Error(err)
				return
			}
			go func() { io.Copy(back, front); back.Close() }()
			go func() {
				buf := make([]byte, 64<<10)
				for {
					n, err := back.Read(buf)
					if err != nil {
						front.Close()
						return
					}
					if !silent.Load() {
						front.Write(buf[:n])
					}
				}
			}()
		}
	}()
	db := reopenPostgres(t,
		"postgres://postgres@"+listener.Addr().String()+"/postgres?sslmode=disable&connect_timeout=1")
	db.readTime, db.writeTime = 200*time.Millisecond, 200*time.Millisecond
	ctx := context.Background()
	if _, err := db.Get(ctx, rec.Name, rec.Version); err != nil {
		t.Fatal(err)
	}
	silent.Store(true)
	hang.Ends(t, "calls of a silent database", func() {
		_, getting := db.Get(ctx, rec.Name, rec.Version)
		_, _, _, paging := db.AppendPage(ctx, nil, registry.Query{})
		_, _, searching := db.List(ctx, registry.Query{Search: "abc", UpdatedSince: registrytest.Epoch})
		_, _, changing := db.SetStatus(ctx, rec.Name, rec.Version,
			registry.Change{Status: registry.Deprecated, At: registrytest.Epoch})
		imported := rec
		imported.Origin = "https://registry.example.com"
		_, following := db.Follow(ctx, imported)
		// Silent from the moment that it has the lock, when a read of it is over.
		silent.Store(false)
		midway := db.alone(ctx, func(ctx context.Context, tx pgx.Tx) error {
			silent.Store(true)
			_, err := tx.Exec(ctx, "SELECT 1")
			return err
		})
		silent.Store(false)
		committing := db.alone(ctx, func(context.Context, pgx.Tx) error { silent.Store(true); return nil })
		silent.Store(false)
		rolling := db.alone(ctx, func(context.Context, pgx.Tx) error { silent.Store(true); return registry.ErrUnavailable })
		for what, err := range map[string]error{"get": getting, "page": paging, "search": searching, "change": changing,
			"follow": following,
			"midway": midway, "commit": committing, "rollback": rolling} {
			if !errors.Is(err, registry.ErrUnavailable) {
				t.Errorf("%s: %v, want ErrUnavailable", what, err)
			}
		}
	})
	caller, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if _, err := db.Get(caller, rec.Name, rec.Version); !errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, registry.ErrUnavailable) {
		t.Errorf("the caller's end: %v", err)
	}
	silent.Store(false)
	db.readTime, db.writeTime = readTime, writeTime
	if _, err := db.Get(ctx, rec.Name, rec.Version); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

func TestPostgresStatuses(t *testing.T) {
	registrytest.TestStatuses(t, func(t *testing.T) registrytest.RecordsWithStatus { return openPostgresTest(t) })
}

func TestPostgresTokens(t *testing.T) {
	registrytest.TestTokens(t, func(t *testing.T) registry.Tokens { return openPostgresTest(t).Tokens() })
}

// Tokens are revoked, and imports noted, whoever holds the lock of the other writes.
func TestPostgresBesideTheLock(t *testing.T) {
	db := openPostgresTest(t)
	token := registry.Token{ID: "aa", CreatedAt: time.Now()}
	if err := db.alone(t.Context(), func(ctx context.Context, _ pgx.Tx) error {
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		_, revoked := db.Tokens().Revoke(ctx, "bb", time.Now())
		if errors.Is(revoked, registry.ErrNotFound) {
			revoked = nil
		}
		return errors.Join(db.Tokens().Add(ctx, token, "00"), revoked,
			db.SetProgress(ctx, "https://registry.example.com", registry.Progress{Cursor: "x"}))
	}); err != nil {
		t.Error(err)
	}
}

func TestPostgresKept(t *testing.T) {
	registrytest.TestKept(t, func(t *testing.T) registrytest.KeptStore { return openPostgresTest(t) })
}

// A list passes over a run of deleted records without reading their rows.
func TestPostgresListPlans(t *testing.T) {
	server := postgres.ForTest(t)
	db := reopenPostgres(t, server.URL("postgres"))
	ctx := t.Context()
	registrytest.Insert(t, db, registrytest.Record(t, "io.github.z/a", "1.0.0", 0))
	for _, s := range []string{
		`INSERT INTO servers SELECT 'io.github.o/' || i, '1.0.0', document_size, document_digest, evidence, verified_at, build, 'deleted',
			status_message, status_changed_at, published_at, updated_at, true, answer FROM servers, generate_series(1, 5000) i`,
		`INSERT INTO servers SELECT name, '0.0.' || i, document_size, document_digest, evidence, verified_at, build, status,
			status_message, status_changed_at, published_at, updated_at, false, answer FROM servers, generate_series(1, 5000) i WHERE status = 'active'`,
		"VACUUM ANALYZE servers"} {
		if _, err := db.pool.Exec(ctx, s); err != nil {
			t.Fatal(err)
		}
	}
	for want, q := range map[string]registry.Query{"servers_listed ": {},
		"servers_listed_latest ": {Version: registry.Latest}} {
		query, args, _, err := db.list(ctx, q)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := db.pool.Query(ctx, "EXPLAIN (ANALYZE, BUFFERS) "+query, args...)
		if err != nil {
			t.Fatal(err)
		}
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		if plan := strings.Join(lines, "\n"); !strings.Contains(plan, want) || strings.Contains(plan, "Rows Removed") {
			t.Errorf("%+v:\n%s", q, plan)
		}
	}
}
