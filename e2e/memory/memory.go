// Package memory lets tests keep their files in memory. Programs sync what they write, and deleting thousands of small
// files takes a journal long: on a disk both are a fifth of what a script takes. Tests whose subject is the disk
// stay on it.
package memory

import "testing"

// Use has t, and the tests in it, make their temporary directories in memory, where that is possible.
func Use(t *testing.T) {
	t.Helper()
	if dir, ok := find(); ok {
		t.Setenv("TMPDIR", dir)
	}
}
