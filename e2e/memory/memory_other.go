//go:build !linux

package memory

// Find finds none.
func Find() (dir string, ok bool) { return "", false }
