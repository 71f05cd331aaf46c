// Package postgres starts a private PostgreSQL for tests and benchmarks: a new
// cluster in a temporary directory, reached through a Unix socket there, as an
// unprivileged user where this process is root, which PostgreSQL refuses to be. It
// syncs to disk as in production. Text compares by bytes (C.UTF-8).
//
// A shell stands between: it holds a pipe to this process and stops the server when
// that breaks, so that a killed test leaves no server behind.
package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hallmark-mcp/hallmark/e2e/hang"
)

// ErrMissing says that PostgreSQL is not installed.
var ErrMissing = errors.New("postgresql is not installed (e2e/prerequisites.sh installs it)")

// Server is one cluster, running or stopped. Its methods are safe for concurrent use.
type Server struct {
	bin, dir string
	settings []string

	mu    sync.Mutex
	shell *exec.Cmd
	stdin io.Closer
	log   *os.File
	next  int
}

// Create makes a cluster and starts it. Each setting is "name=value", as in
// postgresql.conf.
func Create(settings ...string) (*Server, error) {
	bin, err := find()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "pg") // short: a socket's path has at most 107 bytes
	if err != nil {
		return nil, err
	}
	s := &Server{bin: bin, dir: dir, settings: settings}
	if err := s.create(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return s, nil
}

func (s *Server) create() error {
	if err := giveAway(s.dir); err != nil {
		return err
	}
	initdb := exec.Command(filepath.Join(s.bin, "initdb"), "-D", s.data(), "-U", "postgres", "-A", "trust",
		"-E", "UTF8", "--locale=C.UTF-8", "--no-sync")
	initdb.Dir = s.dir
	if err := unprivileged(initdb); err != nil {
		return err
	}
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	log, err := os.Create(filepath.Join(s.dir, "log"))
	if err != nil {
		return err
	}
	s.log = log
	return s.Start()
}

// find returns the directory of PostgreSQL's programs, the newest if there are
// several. Debian has them outside of PATH.
func find() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			return filepath.Dir(path), nil
		}
	}
	var found []string
	for _, pattern := range []string{"/usr/lib/postgresql/*/bin/initdb", "/usr/pgsql-*/bin/initdb"} {
		matches, err := filepath.Glob(pattern)
		if err != nil {
			return "", err
		}
		found = append(found, matches...)
	}
	if len(found) == 0 {
		return "", ErrMissing
	}
	return filepath.Dir(slices.MaxFunc(found, func(a, b string) int { return major(a) - major(b) })), nil
}

// major is the number in a path of find's.
func major(path string) int {
	digits := strings.TrimPrefix(filepath.Base(filepath.Dir(filepath.Dir(path))), "pgsql-")
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 0
	}
	return n
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// URL is the address of a database, which need not exist yet.
func (s *Server) URL(database string) string {
	u := url.URL{Scheme: "postgres", User: url.User("postgres"), Path: "/" + database,
		RawQuery: url.Values{"host": {s.dir}, "sslmode": {"disable"}}.Encode()}
	return u.String()
}

// FailoverURL is the address of a database which is in two clusters, s being named first.
func (s *Server) FailoverURL(database string, other *Server) string {
	u := url.URL{Scheme: "postgres", User: url.User("postgres"), Path: "/" + database,
		RawQuery: url.Values{"host": {s.dir + "," + other.dir}, "sslmode": {"disable"}}.Encode()}
	return u.String()
}

// Start starts a cluster that is stopped, and waits until it answers.
func (s *Server) Start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shell != nil {
		return errors.New("postgres: runs already")
	}
	args := []string{"-c", `"$@" & server=$!; read -r _; kill -INT $server 2>/dev/null; wait $server`, "sh",
		filepath.Join(s.bin, "postgres"), "-D", s.data(), "-k", s.dir, "-c", "listen_addresses="}
	for _, setting := range s.settings {
		args = append(args, "-c", setting)
	}
	shell := exec.Command("sh", args...)
	shell.Dir, shell.Stdout, shell.Stderr = s.dir, s.log, s.log
	if err := unprivileged(shell); err != nil {
		return err
	}
	stdin, err := shell.StdinPipe()
	if err != nil {
		return err
	}
	if err := shell.Start(); err != nil {
		return err
	}
	s.shell, s.stdin = shell, stdin
	ctx, cancel := context.WithTimeout(context.Background(), hang.Long)
	defer cancel()
	for {
		conn, err := pgx.Connect(ctx, s.URL("postgres"))
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("postgres does not answer: %w\n%s", err, s.tail()), s.stop())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Stop ends every connection and stops the cluster cleanly.
func (s *Server) Stop() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stop()
}

func (s *Server) stop() error {
	if s.shell == nil {
		return nil
	}
	s.stdin.Close()
	s.shell.Wait() // the status comes from a signal
	s.shell = nil
	return nil
}

// Kill ends every process of the cluster at once, as a power cut does save for the
// disk's cache, and returns when they are gone. Start recovers it.
func (s *Server) Kill() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	line, err := os.ReadFile(filepath.Join(s.data(), "postmaster.pid"))
	if err != nil {
		return err
	}
	first, _, _ := bytes.Cut(line, []byte("\n"))
	pid, err := strconv.Atoi(string(first))
	if err != nil {
		return err
	}
	server, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	// At SIGQUIT the server kills its children and leaves without writing anything.
	if err := server.Signal(syscall.SIGQUIT); err != nil {
		return err
	}
	return s.stop()
}

// Standby makes a copy of the running cluster that follows it, and makes each commit wait
// until the copy has it. While the copy is stopped no commit succeeds.
func (s *Server) Standby() (*Server, error) {
	dir, err := os.MkdirTemp("", "pg")
	if err != nil {
		return nil, err
	}
	copied := &Server{bin: s.bin, dir: dir, settings: s.settings}
	if err := copied.follow(s); err != nil {
		if copied.log != nil {
			return nil, errors.Join(err, copied.Close())
		}
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return copied, nil
}

func (s *Server) follow(primary *Server) error {
	if err := giveAway(s.dir); err != nil {
		return err
	}
	backup := exec.Command(filepath.Join(s.bin, "pg_basebackup"), "-h", primary.dir, "-U", "postgres", "-D", s.data(),
		"-R", "-X", "stream", "-c", "fast", "--no-sync")
	backup.Dir = s.dir
	if err := unprivileged(backup); err != nil {
		return err
	}
	if out, err := backup.CombinedOutput(); err != nil {
		return fmt.Errorf("pg_basebackup: %w\n%s", err, out)
	}
	var err error
	if s.log, err = os.Create(filepath.Join(s.dir, "log")); err != nil {
		return err
	}
	if err := s.Start(); err != nil {
		return err
	}
	return primary.synchronous()
}

// synchronous makes commits wait for the standby, as soon as there is one.
func (s *Server) synchronous() error {
	ctx, cancel := context.WithTimeout(context.Background(), hang.Long)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.URL("postgres"))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	for _, statement := range []string{"ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()"} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return err
		}
	}
	for {
		var n int
		if err := conn.QueryRow(ctx,
			"SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'").Scan(&n); err != nil || n > 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("no standby follows: %w\n%s", ctx.Err(), s.tail())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Promote makes a standby the one that takes writes.
func (s *Server) Promote() error {
	ctx, cancel := context.WithTimeout(context.Background(), hang.Long)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.URL("postgres"))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	var promoted bool
	if err := conn.QueryRow(ctx, "SELECT pg_promote(true, 120)").Scan(&promoted); err != nil {
		return err
	}
	if !promoted {
		return fmt.Errorf("the standby was not promoted\n%s", s.tail())
	}
	return nil
}

// PID is the process of the running cluster, 0 if there is none.
func (s *Server) PID() int {
	line, err := os.ReadFile(filepath.Join(s.data(), "postmaster.pid"))
	if err != nil {
		return 0
	}
	first, _, _ := bytes.Cut(line, []byte("\n"))
	pid, _ := strconv.Atoi(string(first))
	return pid
}

// Close stops the cluster and removes it.
func (s *Server) Close() error {
	return errors.Join(s.Stop(), s.log.Close(), os.RemoveAll(s.dir))
}

// tail is the end of the log.
func (s *Server) tail() []byte {
	text, _ := os.ReadFile(s.log.Name())
	return text[max(0, len(text)-2000):]
}

// Database creates an empty database and returns its URL.
func (s *Server) Database(ctx context.Context) (string, error) {
	// template0 is the one that nobody else can be connected to.
	name, err := s.make(ctx, "CREATE DATABASE %s TEMPLATE template0")
	return s.URL(name), err
}

// Schema creates an empty schema, which takes a tenth of the time, and returns the
// URL of a database in which nothing but that is seen.
func (s *Server) Schema(ctx context.Context) (string, error) {
	name, err := s.make(ctx, "CREATE SCHEMA %s")
	return s.URL("postgres") + "&search_path=" + name, err
}

// make runs a statement with a new name in it.
func (s *Server) make(ctx context.Context, statement string) (string, error) {
	conn, err := pgx.Connect(ctx, s.URL("postgres"))
	if err != nil {
		return "", err
	}
	defer conn.Close(ctx)
	s.mu.Lock()
	s.next++
	name := fmt.Sprintf("test%d", s.next)
	s.mu.Unlock()
	_, err = conn.Exec(ctx, fmt.Sprintf(statement, name))
	return name, err
}

// ForTest returns a running cluster that ends with the test. Where PostgreSQL is not
// installed the test is skipped, and fails under CI=true.
func ForTest(t testing.TB, settings ...string) *Server {
	t.Helper()
	s, err := Create(settings...)
	if errors.Is(err, ErrMissing) && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}
