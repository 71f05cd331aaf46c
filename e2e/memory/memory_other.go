//go:build !linux

package memory

func find() (dir string, ok bool) { return "", false }
