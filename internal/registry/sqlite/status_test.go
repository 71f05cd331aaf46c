package sqlite

import (
	"path/filepath"
	"testing"

	"github.com/hallmark-mcp/hallmark/internal/registry/registrytest"
)

func TestSQLiteStatuses(t *testing.T) {
	registrytest.TestStatuses(t, func(t *testing.T) registrytest.RecordsWithStatus {
		return openTest(t, filepath.Join(t.TempDir(), "registry.db"))
	})
}
