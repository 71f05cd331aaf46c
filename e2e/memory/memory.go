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

// Use has t, and the tests in it, make their temporary directories in memory, where that is possible: right in the
// directory that [Find] gives, as messages cut long paths.
func Use(t *testing.T) {
	t.Helper()
	if dir, ok := Find(); ok {
		t.Setenv("TMPDIR", dir)
	}
}

// isElsewhere reports whether somebody said where temporary files belong, other than in memory.
func isElsewhere() bool { return os.Getenv("TMPDIR") != "" && !isInMemory() }

// isInMemory reports whether temporary files are in memory, as in a run of all tests.
func isInMemory() bool {
	rel, err := filepath.Rel(shared, os.Getenv("TMPDIR"))
	return err == nil && filepath.IsLocal(rel)
}

// Leave has the tests of a package on the disk, also in a run of all tests, which has the others in memory.
func Leave() {
	if isInMemory() {
		os.Unsetenv("TMPDIR")
	}
}
