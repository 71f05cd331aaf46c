package registry

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	registryclient "github.com/hallmark-mcp/hallmark/internal/registry/client"

	"github.com/hallmark-mcp/hallmark/e2e/hang"
)

// The disk of a registry on one machine is full: publishers are told to come back, readers
// are served, what was acknowledged is there and in the log, and as soon as there is room
// the registry goes on by itself; after a restart it is the same one.
func TestDiskFull(t *testing.T) {
	data := t.TempDir()
	if os.Getuid() != 0 {
		t.Skip("mounting a small disk needs root")
	}
	if err := syscall.Mount("tmpfs", data, "tmpfs", 0, "size=12m"); err != nil {
		t.Skip("mounting a small disk: ", err)
	}
	t.Cleanup(func() { syscall.Unmount(data, syscall.MNT_DETACH) })
	r := start(t, "--data", data, "--rate-writes", "0")
	about, err := (&registryclient.Client{Base: "http://" + r.addr}).About(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var acked []string
	next := 0
	publish := func() int {
		name := fmt.Sprintf("io.example.full/s%05d", next)
		status := r.publish(name, "1.0.0") // which demands Retry-After with a 503
		if status == http.StatusOK || status == http.StatusCreated {
			acked = append(acked, name+" 1.0.0")
			next++
		}
		return status
	}
	ballast := filepath.Join(data, "ballast")
	for range 2 {
		for range 40 {
			if status := publish(); status != http.StatusOK && status != http.StatusCreated {
				t.Fatalf("with room: %d", status)
			}
		}
		fillDisk(t, ballast)
		refused := 0
		for range 200 { // the database has some room of its own
			switch status := publish(); status {
			case http.StatusOK, http.StatusCreated:
			case http.StatusServiceUnavailable:
				refused++
			default:
				t.Fatalf("with a full disk: status %d, of which 0 is no answer", status)
			}
			if refused == 5 {
				break
			}
		}
		if refused == 0 {
			t.Fatal("the disk is not full")
		}
		complete(t, r, acked) // readers
		if err := os.Remove(ballast); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(hang.Long); ; time.Sleep(100 * time.Millisecond) {
			status := publish()
			if status == http.StatusOK || status == http.StatusCreated {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("with room again: %d", status)
			}
		}
	}
	for range 2 {
		complete(t, r, acked)
		entries, err := logCheck(t, "http://"+r.addr, about.LogKey)
		if err != nil {
			t.Fatal(err)
		}
		if len(entries) != len(acked) {
			t.Errorf("%d entries of %d publishes", len(entries), len(acked))
		}
		r.kill()
		r.run()
	}
}

// fillDisk writes to a file until its disk is full.
func fillDisk(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, size := range []int{1 << 20, 1 << 12, 1} {
		for {
			if _, err := f.Write(make([]byte, size)); err != nil {
				break
			}
		}
	}
}
