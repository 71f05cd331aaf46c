package postgres

import (
	"context"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/internal/registry/registrytest"
)

func TestPostgresEntries(t *testing.T) {
	registrytest.TestEntries(t, func(t *testing.T) registrytest.LogStore { return openPostgresTest(t) })
}

func TestPostgresFill(t *testing.T) {
	db := openPostgresTest(t)
	registrytest.TestFill(t, db, func(s string) error {
		_, err := db.pool.Exec(context.Background(),
			strings.NewReplacer("COMPLETE", "false", "EDGE", `'\x0000000000000000'`).Replace(s))
		return err
	}, func() error { return db.FillLog(context.Background()) })
}
