package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/registrytest"
)

func TestBackup(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	db := openTest(t, filepath.Join(dir, "registry.db"))
	registrytest.Insert(t, db, registrytest.Record(t, "io.github.o/a", "1.0.0", 0))

	// Another process publishes, one name after another.
	other := openTest(t, filepath.Join(dir, "registry.db"))
	stop, wg := make(chan struct{}), sync.WaitGroup{}
	written := 0
	wg.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			rec := registrytest.Record(t, fmt.Sprintf("io.github.o/b%05d", i), "1.0.0", i)
			if _, err := other.Insert(ctx, registrytest.Admission(rec), rec); err != nil {
				t.Error(err)
				return
			}
			written++
		}
	})
	for k := range 5 {
		path := filepath.Join(dir, fmt.Sprintf("backup%d.db", k))
		if err := db.Backup(ctx, path); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Errorf("mode %v", info.Mode())
		}
		copied := openTest(t, path)
		var verdict string
		if err := copied.read.QueryRow("PRAGMA integrity_check").Scan(&verdict); err != nil || verdict != "ok" {
			t.Errorf("integrity %q, %v", verdict, err)
		}
		names := registrytest.All(t, copied, registry.Query{Limit: registry.MaxLimit})
		for i, name := range names[1:] { // a moment of the database has no gaps
			if want := fmt.Sprintf("io.github.o/b%05d@1.0.0", i); name != want {
				t.Fatalf("%s, want %s", name, want)
			}
		}
		if names[0] != "io.github.o/a@1.0.0" ||
			len(registrytest.All(t, copied, registry.Query{Search: "github.o/a"})) != 1 {
			t.Errorf("names %q", names[:1])
		}
		registrytest.Insert(t, copied, registrytest.Record(t, "io.github.o/c", "1.0.0", 0)) // it is a database like any
	}
	close(stop)
	wg.Wait()
	if written == 0 {
		t.Error("nothing was published meanwhile")
	}

	path := filepath.Join(dir, "backup0.db")
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Backup(ctx, path); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over a file: %v", err)
	}
	if after, err := os.Stat(path); err != nil || !os.SameFile(before, after) {
		t.Errorf("the file was replaced: %v", err)
	}
	if err := db.Backup(ctx, filepath.Join(dir, "absent", "x.db")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("into no directory: %v", err)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if err := db.Backup(cancelled, filepath.Join(dir, "late.db")); err == nil {
		t.Error("backed up after its context")
	}
	left, err := filepath.Glob(filepath.Join(dir, ".registry-*"))
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
