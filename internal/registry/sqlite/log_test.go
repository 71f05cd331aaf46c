package sqlite

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

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
