package servertest

import (
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/registry/api"
	"github.com/hallmark-mcp/hallmark/internal/registry/sqlite"
)

// ServeLog starts a registry with a log.
func ServeLog(t *testing.T, change func(*api.Config)) (*Fixture, *ServedLog) {
	var l *ServedLog
	f := Serve(t, evidence.Report{}, func(c *api.Config) {
		l = OpenLog(t, c.Records.(*sqlite.DB))
		c.Log = l.Log
		if change != nil {
			change(c)
		}
	})
	return f, l
}
