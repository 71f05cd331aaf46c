package sqlite

import (
	"path/filepath"
	"testing"

	"github.com/hallmark-mcp/hallmark/internal/registry/registrytest"
)

func TestSQLiteKept(t *testing.T) {
	registrytest.TestKept(t, func(t *testing.T) registrytest.KeptStore {
		return openTest(t, filepath.Join(t.TempDir(), "registry.db"))
	})
}
