package sqlite

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/registrytest"
)

func TestSQLiteEntries(t *testing.T) {
	registrytest.TestEntries(t, func(t *testing.T) registrytest.LogStore {
		return openTest(t, filepath.Join(t.TempDir(), "registry.db"))
	})
}

func TestSQLiteFill(t *testing.T) {
	db := openTest(t, filepath.Join(t.TempDir(), "registry.db"))
	registrytest.TestFill(t, db, func(s string) error {
		_, err := db.write.Exec(strings.NewReplacer("COMPLETE", "0", "EDGE", "zeroblob(8)").Replace(s))
		return err
	}, func() error { return db.FillLog(context.Background()) })
}

// TestSQLiteNoHead: a database that lost the head of its log says so, and not that it has no such entry.
func TestSQLiteNoHead(t *testing.T) {
	db := openTest(t, filepath.Join(t.TempDir(), "registry.db"))
	if _, err := db.write.Exec("DELETE FROM log_head"); err != nil {
		t.Fatal(err)
	}
	_, state := db.LogState(t.Context())
	for what, err := range map[string]error{"state": state, "fill": db.FillLog(t.Context())} {
		if err == nil || errors.Is(err, registry.ErrNotFound) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
