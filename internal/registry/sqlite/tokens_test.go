package sqlite

import (
	"path/filepath"
	"testing"

	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/registrytest"
)

func TestSQLiteTokens(t *testing.T) {
	registrytest.TestTokens(t, func(t *testing.T) registry.Tokens {
		return openTest(t, filepath.Join(t.TempDir(), "registry.db")).Tokens()
	})
}
