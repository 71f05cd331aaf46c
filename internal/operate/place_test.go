package operate

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/e2e/postgres"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/hosttest"
	"github.com/hallmark-mcp/hallmark/internal/registry"
)

// Everything that an operator does beside a registry is done on PostgreSQL too.
func TestPlacePostgres(t *testing.T) {
	cluster, err := postgres.Create()
	if err != nil {
		if os.Getenv("CI") != "true" {
			t.Skip(err)
		}
		t.Fatal(err)
	}
	defer cluster.Close()
	url, err := cluster.Schema(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	at := Place{Data: filepath.Join(t.TempDir(), "none"), Database: url}
	dump := filepath.Join(t.TempDir(), "dump.json")
	line := `{"server":{"name":"io.github.o/notes","description":"d","version":"1.0.0"},` +
		`"_meta":{"io.modelcontextprotocol.registry/official":` +
		`{"status":"deleted","statusChangedAt":"2026-01-31T12:00:00Z","publishedAt":"2026-01-31T12:00:00Z",` +
		`"updatedAt":"2026-01-31T12:00:00Z","isLatest":true}}}`
	if err := os.WriteFile(dump, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	for n, added := range []int{1, 0} {
		i, err := Import(t.Context(), ImportOptions{Place: at, From: dump})
		if err != nil || i.Added != added || i.Present != n {
			t.Fatalf("%+v, %v", i, err)
		}
	}
	// A dump without deleted records would bring them back to life elsewhere.
	var out bytes.Buffer
	if n, err := Export(t.Context(), at, &out); err != nil || n != 1 ||
		!strings.Contains(out.String(), `"status":"deleted"`) {
		t.Errorf("%d, %v: %s", n, err, out.String())
	}
	if r, err := Reverify(t.Context(), ReverifyOptions{Place: at, Version: "test"}); err != nil || r.Records != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if err := Backup(t.Context(), at, filepath.Join(t.TempDir(), "x")); evidence.ClassOf(err) != evidence.Validation {
		t.Errorf("backup: %v", err)
	}
	tokens, err := OpenTokens(t.Context(), at, true, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer tokens.Close()
	token, _, err := tokens.Create(t.Context(), "n",
		[]registry.Permission{{Action: registry.ActionPublish, Resource: "io.github.o/*"}}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if revoked, err := tokens.Revoke(t.Context(), token.ID, "list"); err != nil || revoked.RevokedAt.IsZero() {
		t.Errorf("%+v, %v", revoked, err)
	}
	if all, err := tokens.List(t.Context()); err != nil || len(all) != 1 {
		t.Errorf("%v, %v", all, err)
	}
	if _, err := os.Stat(at.Data); err == nil {
		t.Error("a data directory was made")
	}
}

// Each file that cannot be written or read is named with what to do.
func TestFileHints(t *testing.T) {
	at, cut := Place{Data: t.TempDir()}, filepath.Join(t.TempDir(), "cut.jsonl")
	hosttest.OpenRecords(t, at.Data)
	if err := os.WriteFile(cut, []byte(`{"server":`), 0o600); err != nil {
		t.Fatal(err)
	}
	nowhere := filepath.Join(t.TempDir(), "none", "file")
	_, exported := ExportFile(t.Context(), at, nowhere)
	_, imported := Import(t.Context(), ImportOptions{Place: at, From: cut})
	_, restored := Import(t.Context(), ImportOptions{Place: at, From: "https://registry.example.com", Restore: true})
	for want, err := range map[string]error{
		"directory exist":  exported,
		"may you write":    Backup(t.Context(), at, nowhere),
		"cut or no export": imported,
		"export FILE":      restored,
	} {
		if e := new(evidence.Error); !errors.As(err, &e) || !strings.Contains(e.Hint, want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
