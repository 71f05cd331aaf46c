package clients

import (
	"os"
	"path/filepath"
	"testing"
)

func TestCheckProgram(t *testing.T) {
	home, temp, cache := t.TempDir(), t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("TMPDIR", temp)
	t.Setenv("TMP", temp)
	getenv := func(name string) string { return map[string]string{"UV_CACHE_DIR": cache, "GOCACHE": "off"}[name] }
	for path, ok := range map[string]bool{
		filepath.Join(home, ".local", "bin", "hallmark"):                          true,
		filepath.Join(home, ".local", "bin", "hm"):                                false,
		filepath.Join(home, ".npm", "_npx", "0123", "node_modules", "hallmark"):   false,
		filepath.Join(home, ".cache", "uv", "archive-v0", "x", "bin", "hallmark"): false,
		filepath.Join(cache, "archive-v0", "hallmark"):                            false,
		filepath.Join(temp, "go-build", "hallmark"):                               false,
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := CheckProgram(path, getenv); (err == nil) != ok {
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, path := range []string{"", filepath.Join(home, "gone", "hallmark")} {
		if CheckProgram(path, getenv) == nil {
			t.Errorf("%q is taken", path)
		}
	}
}
