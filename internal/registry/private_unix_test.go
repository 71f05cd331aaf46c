//go:build unix

package registry

import (
	"os"
	"path/filepath"
	"testing"
)

// A container's secret belongs to another user than the process that reads it.
func TestForeignKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o444); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := private(path, info, os.Geteuid()); err == nil {
		t.Error("the user's own file is taken")
	}
	if err := private(path, info, os.Geteuid()+1); err != nil {
		t.Errorf("the file of another user: %v", err)
	}
}
