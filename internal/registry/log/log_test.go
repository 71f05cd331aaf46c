package log_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/internal/registry/log"
	"github.com/hallmark-mcp/hallmark/internal/registry/registrytest"
	"github.com/hallmark-mcp/hallmark/internal/registry/servertest"
	"github.com/hallmark-mcp/hallmark/ledger"
)

func TestLogSigns(t *testing.T) {
	ctx := context.Background()
	db := servertest.OpenSQLite(t, filepath.Join(t.TempDir(), "registry.db"))
	l := servertest.OpenLog(t, db)
	if head := l.Head(); head.Size != 0 || head.Origin != "log.example.com" {
		t.Fatalf("%+v", head)
	}
	var heads []ledger.Signed
	for i, rec := range registrytest.Fill(t, db, 0, 300) {
		if i%37 != 0 && i != 299 {
			continue
		}
		proof, err := l.Prove(ctx, rec.Entry, nil)
		if err != nil {
			t.Fatal(err)
		}
		l.Proven(t, proof, rec)
		heads = append(heads, l.Head())
	}
	// It goes on where it ended, and what was committed meanwhile is signed.
	l.Close()
	more := registrytest.Fill(t, db, 300, 303)
	if err := l.Again(t, db); err != nil {
		t.Fatal(err)
	}
	proof, err := l.Prove(ctx, more[2].Entry, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := l.Proven(t, proof, more[2]); got.Size != 303 {
		t.Errorf("signed %d", got.Size)
	}
	// The log continues every checkpoint of before.
	reader := &ledger.Reader{At: l.Head().Checkpoint, Fetch: func(path string) ([]byte, error) {
		tile, err := ledger.ParseTilePath(path)
		if err != nil {
			return nil, err
		}
		return l.Tile(ctx, tile)
	}}
	for _, old := range heads {
		if err := reader.CheckExtends(old.Checkpoint); err != nil {
			t.Error(err)
		}
	}
}

// Nothing is signed over a database that does not have what was signed.
func TestLogRefusesToGoBack(t *testing.T) {
	ctx := context.Background()
	for _, tt := range []struct {
		name  string
		after int    // records that the restored database gets besides
		spoil string // SQL on the restored database
		want  string
	}{
		{"backup", 0, "", "8 entries were signed, and it has 5"},
		{"backup that went on", 4, "", "the root of its first 8 entries"},
		{"last entry gone", -1, "DELETE FROM log_entries WHERE idx = 7", "8 entries were signed, and it has 7"},
		{"an entry in between gone", -1, "DELETE FROM log_entries WHERE idx = 3",
			"8 entries were signed, and it has 3"},
		{"another hash", -1, "UPDATE log_entries SET hash = zeroblob(32) WHERE idx = 2",
			"the root of its first 8 entries"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			db := servertest.OpenSQLite(t, filepath.Join(dir, "registry.db"))
			l := servertest.OpenLog(t, db)
			registrytest.Fill(t, db, 0, 5)
			if err := db.Backup(ctx, filepath.Join(dir, "backup.db")); err != nil {
				t.Fatal(err)
			}
			registrytest.Fill(t, db, 5, 8)
			if _, err := l.Covering(ctx, 7); err != nil {
				t.Fatal(err)
			}
			kept, err := os.ReadFile(l.Heads.Path)
			if err != nil {
				t.Fatal(err)
			}
			if tt.after >= 0 {
				db = servertest.OpenSQLite(t, filepath.Join(dir, "backup.db"))
				registrytest.Fill(t, db, 100, 100+tt.after)
			}
			servertest.Alter(t, db, tt.spoil)
			if err := l.Again(t, db); !errors.Is(err, log.ErrBroken) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
			if !bytes.Equal(l.Checkpoint(), kept) {
				t.Errorf("what was signed is not served any more: %s", l.Checkpoint())
			}
			rec := registrytest.Insert(t, db, registrytest.Record(t, "io.github.acme/z", "1.0.0", 0))
			if proof, err := l.Prove(ctx, rec.Entry, nil); !errors.Is(err, log.ErrBroken) {
				t.Errorf("proof %s, %v", proof, err)
			}
			if now, err := os.ReadFile(l.Heads.Path); err != nil || !bytes.Equal(now, kept) {
				t.Errorf("what was signed last is replaced by %s, %v", now, err)
			}
		})
	}
}

// The database may go back while the log is open, too.
func TestLogNoticesWhileServing(t *testing.T) {
	for _, spoil := range []string{
		"DELETE FROM log_entries WHERE idx >= 3",
		"UPDATE log_entries SET hash = zeroblob(32) WHERE idx = 4",
	} {
		db := servertest.OpenSQLite(t, filepath.Join(t.TempDir(), "registry.db"))
		l := servertest.OpenLog(t, db)
		registrytest.Fill(t, db, 0, 5)
		if _, err := l.Covering(context.Background(), 4); err != nil {
			t.Fatal(err)
		}
		servertest.Alter(t, db, spoil)
		if _, err := l.Covering(context.Background(), 5); !errors.Is(err, log.ErrBroken) {
			t.Errorf("%s: %v", spoil, err)
		}
		if l.Head().Size != 5 {
			t.Errorf("%s: signed %d", spoil, l.Head().Size)
		}
	}
}

// An entry that is not signed yet and goes from the database is noticed: what comes after
// it would wait for ever.
func TestLogNoticesAGap(t *testing.T) {
	db := servertest.OpenSQLite(t, filepath.Join(t.TempDir(), "registry.db"))
	l := servertest.OpenLog(t, db)
	registrytest.Fill(t, db, 0, 5)
	if _, err := l.Covering(context.Background(), 4); err != nil {
		t.Fatal(err)
	}
	l.Close()
	registrytest.Fill(t, db, 5, 8)
	servertest.Alter(t, db, "DELETE FROM log_entries WHERE idx = 5")
	if err := l.Again(t, db); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Covering(context.Background(), 7); !errors.Is(err, log.ErrBroken) ||
		!strings.Contains(err.Error(), "8 entries, and entry 5 is gone") {
		t.Errorf("%v", err)
	}
	if l.Head().Size != 5 {
		t.Errorf("signed %d", l.Head().Size)
	}
}
