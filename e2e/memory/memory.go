// Package memory lets tests keep their files in memory. Programs sync what they write, and deleting thousands of small
// files takes a journal long: on a disk both are a fifth of what a script takes. Tests whose subject is the disk
// stay on it.
package memory

import (
	"os"
	"path/filepath"
	"testing"
)

// shared is where Linux has files in memory.
const shared = "/dev/shm"

// Use has t, and the tests in it, make their temporary directories in memory, where that is possible.
func Use(t *testing.T) {
	t.Helper()
	if dir, ok := Find(); ok {
		t.Setenv("TMPDIR", dir)
	}
}

// Leave has the tests of a package on the disk, also in a run of all tests, which has the others in memory.
func Leave() {
	if rel, err := filepath.Rel(shared, os.Getenv("TMPDIR")); err == nil && filepath.IsLocal(rel) {
		os.Unsetenv("TMPDIR")
	}
}
