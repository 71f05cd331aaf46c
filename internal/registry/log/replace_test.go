package log_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/registry/log"
	"github.com/hallmark-mcp/hallmark/internal/registry/registrytest"
	"github.com/hallmark-mcp/hallmark/internal/registry/servertest"
	"github.com/hallmark-mcp/hallmark/ledger"
)

// After a database was lost in part, the registry goes on with a new log, which has all
// that is left. It is never one with the name of the old.
func TestReplaceLog(t *testing.T) {
	ctx := context.Background()
	db := servertest.OpenSQLite(t, filepath.Join(t.TempDir(), "registry.db"))
	l := servertest.OpenLog(t, db)
	registrytest.Fill(t, db, 0, 5)
	if _, err := l.Covering(ctx, 4); err != nil {
		t.Fatal(err)
	}
	servertest.Alter(t, db, "DELETE FROM log_entries WHERE idx = 4")
	rows, err := db.LogHashes(ctx, 0, 0, 4)
	if err != nil {
		t.Fatal(err)
	}
	var edge ledger.Edge
	for _, h := range rows {
		edge.Add(h)
	}
	servertest.Alter(t, db, "UPDATE log_head SET edge = ?", edge.Marshal())
	if err := l.Again(t, db); !errors.Is(err, log.ErrBroken) {
		t.Fatal(err)
	}
	l.Close()
	old, kept := l.Key, l.Checkpoint()
	secret, _, err := ledger.GenerateKey(rand.Reader, "log-2.example.com")
	if err != nil {
		t.Fatal(err)
	}
	if l.Key, err = ledger.ParseKey(secret); err != nil {
		t.Fatal(err)
	}
	thief, err := ledger.NewKey(old.Name(), make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{
		"the name of the old log": log.Replace(ctx, l.Heads, thief, old.Name()),
		"a log that was not here": log.Replace(ctx, l.Heads, l.Key, "other.example.com"),
		"no head": log.Replace(ctx, log.FileHeads{Path: filepath.Join(t.TempDir(), "head")}, l.Key,
			old.Name()),
		"nobody says what is replaced": l.Again(t, db),
	} {
		if err == nil {
			t.Errorf("%s: taken", what)
		}
		if e := new(evidence.Error); what == "a log that was not here" && (!errors.As(err, &e) ||
			e.Kind != evidence.Validation || !strings.Contains(e.Hint, "--replace-log "+strconv.Quote(old.Name()))) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if now, err := os.ReadFile(l.Heads.Path); err != nil || !bytes.Equal(now, kept) {
		t.Fatalf("%s, %v", now, err)
	}
	for range 2 { // the flag may stay where it is
		if err := log.Replace(ctx, l.Heads, l.Key, old.Name()); err != nil {
			t.Fatal(err)
		}
		if err := l.Again(t, db); err != nil {
			t.Fatal(err)
		}
		if head, err := l.Covering(ctx, 3); err != nil || head.Size < 4 || head.Origin != "log-2.example.com" {
			t.Fatalf("%+v, %v", head, err)
		}
	}
	rec := registrytest.Insert(t, db, registrytest.Record(t, "io.github.acme/z", "1.0.0", 0))
	if _, err := l.Prove(ctx, rec.Entry, nil); err != nil {
		t.Error(err)
	}
}
