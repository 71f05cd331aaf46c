package registry_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/registry"
)

func TestLogKey(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "log.key")
	if _, err := registry.ReadLogKey(path, ""); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	var keys [8]string
	var wg sync.WaitGroup
	for i := range keys {
		wg.Go(func() {
			key, _, err := registry.OpenLogKey(ctx, path, "")
			if err != nil {
				t.Error(err)
				return
			}
			keys[i] = key.VerifierKey
		})
	}
	wg.Wait()
	if len(slices.Compact(keys[:])) != 1 || !strings.HasPrefix(keys[0], "hallmark-log-") {
		t.Errorf("%q", keys)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if _, created, err := registry.OpenLogKey(ctx, path, "other.example.com"); evidence.ClassOf(err) != evidence.Validation ||
		created || !strings.Contains(err.Error(), "hint: ") {
		t.Errorf("another origin: %v", err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := registry.OpenLogKey(ctx, path, ""); runtime.GOOS != "windows" &&
		(err == nil || !strings.Contains(err.Error(), "chmod 600 "+path)) {
		t.Errorf("a key that others may read: %v", err)
	}
	seed := filepath.Join(t.TempDir(), "seed")
	for _, content := range []string{strings.Repeat("7", 32), strings.Repeat("37", 32) + "\n"} {
		if err := os.WriteFile(seed, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		key, err := registry.ReadLogKey(seed, "log.example.com")
		if err != nil || key.Name() != "log.example.com" {
			t.Fatal(err)
		}
		if keys[0], keys[1] = keys[1], key.VerifierKey; content[0] == '3' && keys[0] != keys[1] {
			t.Error("one seed in two forms gives two keys")
		}
		if _, err := registry.ReadLogKey(seed, ""); err == nil || !strings.Contains(err.Error(), "has no name") {
			t.Errorf("a seed without a name: %v", err)
		}
	}
	for _, content := range []string{"", "PRIVATE+KEY+x", "PRIVATE+KEY+a+00000000+AAAA\n", "7"} {
		if err := os.WriteFile(seed, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := registry.ReadLogKey(seed, "log.example.com"); err == nil {
			t.Errorf("%q is a key", content)
		}
	}
}
