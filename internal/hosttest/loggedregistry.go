package hosttest

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/internal/archive"
	"github.com/hallmark-mcp/hallmark/internal/plugins"
	"github.com/hallmark-mcp/hallmark/internal/publish"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/api"
	"github.com/hallmark-mcp/hallmark/internal/registry/blobs"
	"github.com/hallmark-mcp/hallmark/internal/registry/client"
	registrylog "github.com/hallmark-mcp/hallmark/internal/registry/log"
	"github.com/hallmark-mcp/hallmark/internal/registry/pages"
	"github.com/hallmark-mcp/hallmark/internal/registry/sqlite"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/serverjson"
)

// LoggedRegistry is a registry with a log, that can be stopped, changed and started again
// under one URL.
type LoggedRegistry struct {
	T       *testing.T
	Dir     string
	KeyFile string
	Key     string
	URL     string
	Handler atomic.Pointer[http.Handler]
	// wire changes answers on their way; nil leaves them.
	wire  atomic.Pointer[func(path string, body []byte) []byte]
	Close func()
}

// NewLoggedRegistry starts a registry whose log has the key of this file, or one of its own if that is "".
func NewLoggedRegistry(t *testing.T, keyFile string) *LoggedRegistry {
	t.Helper()
	r := &LoggedRegistry{T: t, Dir: t.TempDir(), KeyFile: keyFile}
	if keyFile == "" {
		r.KeyFile = filepath.Join(r.Dir, "log.key")
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		rec := httptest.NewRecorder()
		(*r.Handler.Load()).ServeHTTP(rec, req)
		body := rec.Body.Bytes()
		if change := r.wire.Load(); change != nil {
			body = (*change)(req.URL.Path, body)
		}
		for k, v := range rec.Header() {
			if k != "Content-Length" {
				w.Header()[k] = v
			}
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		w.WriteHeader(rec.Code)
		w.Write(body)
	}))
	t.Cleanup(srv.Close)
	r.URL = srv.URL
	r.Start()
	t.Cleanup(func() { r.Close() })
	return r
}

// DB is the file of its database.
func (r *LoggedRegistry) DB() string { return filepath.Join(r.Dir, "registry.db") }

// Start starts it again, once it was closed.
func (r *LoggedRegistry) Start() {
	r.T.Helper()
	if err := r.TryStart(); err != nil {
		r.T.Fatal(err)
	}
}

// TryStart is Start, which may fail.
func (r *LoggedRegistry) TryStart() error {
	records, err := sqlite.Open(r.T.Context(), r.DB())
	if err != nil {
		return err
	}
	key, _, err := registry.OpenLogKey(r.T.Context(), r.KeyFile, "log.example.com")
	if err != nil {
		return errors.Join(err, records.Close())
	}
	r.Key = key.VerifierKey
	heads := registrylog.FileHeads{Path: filepath.Join(r.Dir, "head")}
	// two of them have one key to contradict each other
	if _, err := os.Stat(heads.Path); errors.Is(err, os.ErrNotExist) {
		if err := registrylog.Begin(r.T.Context(), records, heads, key); err != nil {
			return errors.Join(err, records.Close())
		}
	}
	log, err := registrylog.Open(r.T.Context(), records, heads, key, nil)
	if err != nil && (log == nil || !errors.Is(err, registrylog.ErrBroken)) {
		return errors.Join(err, records.Close())
	}
	blobs, err := blobs.OpenFiles(filepath.Join(r.Dir, "blobs"))
	if err != nil {
		return err
	}
	handler, err := pages.NewSite(api.Config{
		Records: records, Statuses: records, Tokens: records.Tokens(), Log: log, Validation: registry.Off,
		AllowAnonymous: true,
		Blobs:          blobs, Archives: registry.ArchiveKinds(archive.Limits{}), ArchiveRecords: records,
	})
	if err != nil {
		return err
	}
	r.Handler.Store(&handler)
	r.Close = func() { log.Close(); records.Close() }
	return nil
}

// Change stops the registry, lets somebody work on its database, and starts it again.
func (r *LoggedRegistry) Change(work func(*sql.DB)) {
	r.T.Helper()
	r.Close()
	db, err := sql.Open("sqlite", r.DB())
	if err != nil {
		r.T.Fatal(err)
	}
	if work != nil {
		work(db)
	}
	if err := db.Close(); err != nil {
		r.T.Fatal(err)
	}
	r.Start()
}

// OnWire has answers changed on their way; nil leaves them.
func (r *LoggedRegistry) OnWire(change func(path string, body []byte) []byte) {
	if change == nil {
		r.wire.Store(nil)
		return
	}
	r.wire.Store(&change)
}

// Publish publishes versions of io.github.acme/notes.
func (r *LoggedRegistry) Publish(versions ...string) {
	r.T.Helper()
	for _, v := range versions {
		if _, err := (&client.Client{Base: r.URL}).Publish(r.T.Context(), NotesDocument(v, "Notes"), ""); err != nil {
			r.T.Fatal(err)
		}
	}
}

// Facets publishes a facet in each of some versions, and returns their records.
func (r *LoggedRegistry) Facets(versions ...string) (records []registry.ArchiveRecord) {
	r.T.Helper()
	for _, v := range versions {
		dir := r.T.TempDir()
		write := func(name, text string) {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				r.T.Fatal(err)
			}
		}
		write("facet.json",
			fmt.Sprintf(`{"name": "review", "version": %q, "commands": {"go": {"description": "x"}}}`, v))
		if err := os.Mkdir(filepath.Join(dir, "commands"), 0o700); err != nil {
			r.T.Fatal(err)
		}
		write("commands/go.md", "go "+v)
		p, err := publish.Pack(r.T.Context(), publish.PackOptions{Dir: dir, File: filepath.Join(dir, "out.facet")})
		if err != nil {
			r.T.Fatal(err)
		}
		data, err := os.ReadFile(p.File)
		if err != nil {
			r.T.Fatal(err)
		}
		rec, err := (&client.Client{Base: r.URL}).PublishArchive(r.T.Context(), "facet", "review",
			client.Upload{Body: bytes.NewReader(data), Size: int64(len(data))})
		if err != nil {
			r.T.Fatal(err)
		}
		records = append(records, rec)
	}
	return records
}

// Plugin publishes a plugin, and returns its record.
func (r *LoggedRegistry) Plugin(name string) registry.ArchiveRecord {
	r.T.Helper()
	dir, zip := r.T.TempDir(), filepath.Join(r.T.TempDir(), "out.zip")
	if err := os.Mkdir(filepath.Join(dir, "dist"), 0o700); err != nil {
		r.T.Fatal(err)
	}
	for path, text := range map[string]string{
		"mcp-plugin.json": `{"manifestVersion": "2", "name": "` + name +
			`", "version": "1.0.0", "entry": "dist/main.js"}`,
		"dist/main.js": "export const x = 1\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, path), []byte(text), 0o600); err != nil {
			r.T.Fatal(err)
		}
	}
	if _, err := plugins.Hash(r.T.Context(), dir, plugins.HashOptions{Write: true}); err != nil {
		r.T.Fatal(err)
	}
	if _, _, err := plugins.Pack(r.T.Context(), dir, zip); err != nil {
		r.T.Fatal(err)
	}
	file, err := os.Open(zip)
	if err != nil {
		r.T.Fatal(err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		r.T.Fatal(err)
	}
	rec, err := (&client.Client{Base: r.URL}).PublishArchive(r.T.Context(), "plugin", name,
		client.Upload{Body: file, Size: info.Size()})
	if err != nil {
		r.T.Fatal(err)
	}
	return rec
}

// NotesDocument is the server.json of a version of io.github.acme/notes.
func NotesDocument(version, description string) []byte {
	return fmt.Appendf(nil, `{"$schema":"https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
		"name":"io.github.acme/notes","description":%q,"version":%q,`+
		`"remotes":[{"type":"streamable-http","url":"https://mcp.example.com/%s"}]}`, description, version, version)
}

// Exec changes rows of a database, at least one.
func Exec(t *testing.T, db *sql.DB, statement string, args ...any) {
	t.Helper()
	res, err := db.Exec(statement, args...)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := res.RowsAffected(); err == nil && n == 0 && !strings.HasPrefix(statement, "DROP") {
		t.Fatalf("%s: nothing changed", statement)
	}
}

// DigestOf is the digest of a server.json, as records have it.
func DigestOf(t *testing.T, doc []byte) string {
	t.Helper()
	canonical, err := serverjson.Canonical(doc)
	if err != nil {
		t.Fatal(err)
	}
	return digest.FromBytes(canonical).String()
}

// NewWitnessKey is the key of witness.example.org.
func NewWitnessKey(t *testing.T) ledger.Key { return NewWitnessKeyOf(t, "witness.example.org") }

// NewWitnessKeyOf is the key of a witness of this name.
func NewWitnessKeyOf(t *testing.T, name string) ledger.Key {
	t.Helper()
	path := filepath.Join(t.TempDir(), "witness.key")
	if _, _, err := registry.OpenLogKey(t.Context(), path, name); err != nil {
		t.Fatal(err)
	}
	secret, _ := os.ReadFile(path)
	key, err := ledger.ParseWitnessKey(strings.TrimSpace(string(secret)))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// EventuallySized waits until the log has size entries.
func EventuallySized(t *testing.T, r *LoggedRegistry, size int64) {
	t.Helper()
	trust, err := ledger.NewTrust(r.Key, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		note, err := (&client.Client{Base: r.URL}).Checkpoint(context.Background())
		if err == nil {
			if s, err := trust.Open(note); err == nil && s.Size == size {
				return
			}
		}
	}
	t.Fatalf("the log does not come to %d entries", size)
}
