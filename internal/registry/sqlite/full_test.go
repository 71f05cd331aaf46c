package sqlite_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/api"
	"github.com/hallmark-mcp/hallmark/internal/registry/registrytest"
	"github.com/hallmark-mcp/hallmark/internal/registry/servertest"
	"github.com/hallmark-mcp/hallmark/internal/registry/sqlite"
)

// A full disk is told as what passes: readers are served, publishers are to come back, and
// with room again the registry goes on by itself.
func TestDatabaseFull(t *testing.T) {
	var db *sqlite.DB
	f := servertest.Serve(t, nil, func(c *api.Config) {
		db = servertest.OpenSQLite(t, filepath.Join(t.TempDir(), "full.db"))
		c.Records = db
	})
	next := 0
	publish := func() (int, string) {
		next++
		res, body := registrytest.Send(t, "POST", f.URL+"/v0/publish",
			string(registrytest.Document("io.github.o/notes", fmt.Sprintf("1.0.%d", next))), "Content-Type",
			"application/json")
		if res.StatusCode != http.StatusOK && !strings.Contains(body, "no room") {
			t.Errorf("%d %s", res.StatusCode, body)
		}
		return res.StatusCode, res.Header.Get("Retry-After")
	}
	pages := func(most int) {
		t.Helper()
		if _, err := db.Writer().Exec(fmt.Sprintf("PRAGMA max_page_count = %d", most)); err != nil {
			t.Fatal(err)
		}
	}
	size := 0
	if err := db.Writer().QueryRow("PRAGMA page_count").Scan(&size); err != nil {
		t.Fatal(err)
	}
	pages(size)
	status, wait := publish()
	for status == http.StatusOK && next < 500 { // pages have some room left
		status, wait = publish()
	}
	if status != http.StatusServiceUnavailable || wait == "" {
		t.Errorf("full: %d, Retry-After %q", status, wait)
	}
	if res, body := registrytest.Send(t, "GET", f.URL+"/v0/servers", ""); res.StatusCode != http.StatusOK {
		t.Errorf("readers: %d %s", res.StatusCode, body)
	}
	pages(1 << 20)
	if status, _ := publish(); status != http.StatusOK {
		t.Errorf("with room again: %d", status)
	}
	if registry.NoRoom(errors.New("x")) ||
		!registry.NoRoom(fmt.Errorf("blob: %w", &os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC})) {
		t.Error("noRoom")
	}
}
