package registry

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/e2e/hang"
	"github.com/hallmark-mcp/hallmark/e2e/postgres"
	"github.com/hallmark-mcp/hallmark/e2e/s3"
	registryclient "github.com/hallmark-mcp/hallmark/internal/registry/client"
)

// ends runs a command of the registry that is to end with an exit code, and demands that it
// says what is wrong.
func ends(t *testing.T, code int, flags []string, says ...string) {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), hang.Long) // it may begin to serve
	defer cancel()
	cmd := exec.CommandContext(ctx, path, flags...)
	cmd.Env = append(os.Environ(), s3.Environment()...)
	out, err := cmd.CombinedOutput()
	got := 0
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	if got != code {
		t.Fatalf("%s: exit code %d, want %d\n%s", strings.Join(flags, " "), got, code, out)
	}
	for _, s := range says {
		if !strings.Contains(string(out), s) {
			t.Errorf("%s does not say %q:\n%s", strings.Join(flags, " "), s, out)
		}
	}
}

// published publishes a record, or fails.
func published(t *testing.T, r *replica, name string) {
	t.Helper()
	if status := r.publish(name, "1.0.0"); status != http.StatusOK && status != http.StatusCreated {
		t.Fatalf("publish %s: status %d\n%s", name, status, r.complaints())
	}
}

// copied copies a file, and returns the name of the copy.
func copied(t *testing.T, from, to string) string {
	t.Helper()
	data, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return to
}

// What is exported from SQLite and restored into PostgreSQL and a bucket is no log that the
// key signed: with it the registry does not start, wherever its key comes along with what it
// signed, or without. A log with another name takes its place, if the operator says so.
func TestMovedRegistrySignsNoSecondHistory(t *testing.T) {
	db, bucket := postgres.ForTest(t), s3.ForTest(t)
	old := t.TempDir()
	r := start(t, "--data", old, "--log-origin", "log.example.com")
	// Not in the order of an export, of which the log would be the same.
	for _, name := range []string{"io.example.moved/server-c", "io.example.moved/server-a",
		"io.example.moved/server-b"} {
		published(t, r, name)
	}
	r.kill()
	key := filepath.Join(old, "log.key")
	was, err := os.ReadFile(key + ".head")
	if err != nil {
		t.Fatal(err)
	}

	dump := filepath.Join(t.TempDir(), "records.jsonl")
	ends(t, 0, []string{"export", "--data", old, dump})
	moved := []string{"--db", db.URL("postgres"), "--blobs", bucket.URL("moved")}
	ends(t, 0, append([]string{"import", "--restore", dump, "--data", t.TempDir()}, moved...))
	second := t.TempDir() // the same in SQLite
	ends(t, 0, []string{"import", "--restore", dump, "--data", second})

	serve := func(flags ...string) []string {
		return append([]string{"serve", "--addr", "127.0.0.1:0", "--validation", "off", "--allow-anonymous"}, flags...)
	}
	alone := copied(t, key, filepath.Join(t.TempDir(), "log.key"))
	damaged := copied(t, key, filepath.Join(t.TempDir(), "log.key"))
	if err := os.WriteFile(damaged+".head", append(bytes.Clone(was), '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, place := range [][]string{append(moved, "--data", t.TempDir()), {"--data", second}} {
		with := func(keyFile string) []string { return serve(append([]string{"--log-key-file", keyFile}, place...)...) }
		ends(t, 3, with(key), "the log that the key signed is not in this database", "--replace-log")
		ends(t, 2, with(alone), "nothing tells what the key signed last", "--first-log", "--replace-log", alone+".head")
	}
	ends(t, 2, serve("--data", second, "--log-key-file", damaged), "byte for byte", damaged+".head")
	ends(t, 2, serve("--data", second, "--log-key-file", key, "--first-log"), "it has signed 3 entries",
		"start without --first-log")
	if now, err := os.ReadFile(key + ".head"); err != nil || !bytes.Equal(now, was) {
		t.Fatalf("what the key signed last is replaced by %s, %v", now, err)
	}

	// The old registry is as it was.
	r = start(t, "--data", old)
	published(t, r, "io.example.moved/server-d")
	r.kill()

	// The key is put away, what it signed last stays, and a new one takes its place.
	if err := os.Rename(key, key+".old"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(key, []byte(strings.Repeat("5a", 32)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	flags := append(moved, "--data", t.TempDir(), "--log-key-file", key, "--log-origin", "log-2.example.com")
	ends(t, 2, serve(flags...), `the log is signed with another key, that of "log.example.com"`)
	for _, more := range [][]string{{"--replace-log", "log.example.com"}, nil} {
		r = start(t, append(flags, more...)...)
		published(t, r, "io.example.moved/server-e")
		if more == nil {
			about, err := (&registryclient.Client{Base: "http://" + r.addr}).About(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			entries, err := logCheck(t, "http://"+r.addr, about.LogKey)
			if err != nil || len(entries) != 4 || !strings.HasPrefix(about.LogKey, "log-2.example.com+") {
				t.Errorf("%d entries of %s, %v", len(entries), about.LogKey, err)
			}
		}
		r.kill()
	}
	// The copy beside the key is the new log's, so that the key refuses what is not.
	ends(t, 2, serve(append(flags, "--replace-log", "log.example.com", "--first-log")...), "--replace-log is for")
	ends(t, 3, serve("--data", second, "--log-key-file", key, "--log-origin", "log-2.example.com"),
		"the log that the key signed is not in this database")
}

// A key that was made beforehand begins its log once, and is refused as a first one later.
func TestFirstLogIsBegunOnce(t *testing.T) {
	dir := t.TempDir()
	keyFile := filepath.Join(dir, "log.key")
	if err := os.WriteFile(keyFile, []byte(strings.Repeat("7b", 32)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	flags := []string{"--data", filepath.Join(dir, "data"), "--log-key-file", keyFile, "--log-origin",
		"log.example.com"}
	serve := append([]string{"serve", "--addr", "127.0.0.1:0"}, flags...)
	ends(t, 2, serve, "nothing tells what the key signed last", "--first-log", "--replace-log")
	r := start(t, append(flags, "--first-log")...)
	r.kill()
	r.run() // nothing is signed yet
	published(t, r, "io.example.first/server-a")
	r.kill()
	ends(t, 2, append(serve, "--first-log"), "it has signed 1 entries", "start without --first-log")
	r = start(t, flags...)
	published(t, r, "io.example.first/server-b")
	r.kill()

	// Everything is gone but the key, or the key comes to an empty machine.
	for _, name := range []string{"registry.db", "registry.db-wal", "registry.db-shm"} {
		if err := os.Remove(filepath.Join(dir, "data", name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
	ends(t, 3, serve, "the log that the key signed is not in this database")
	if err := os.Remove(keyFile + ".head"); err != nil {
		t.Fatal(err)
	}
	ends(t, 2, serve, "nothing tells what the key signed last")
}

// A registry that is killed while it starts for the first time starts later: there is never
// a key of which nobody knows whether it has signed.
func TestKilledAtItsFirstStart(t *testing.T) {
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		dir := t.TempDir()
		for range 4 {
			cmd := exec.Command(path, "serve", "--addr", "127.0.0.1:0", "--data", dir)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(5*time.Millisecond + rand.N(120*time.Millisecond))
			cmd.Process.Kill()
			cmd.Wait()
		}
		r := start(t, "--data", dir)
		published(t, r, "io.example.killed/server-a")
		r.kill()
	}
}
