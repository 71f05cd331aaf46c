//go:build !linux && !darwin && !dragonfly && !freebsd && !netbsd && !openbsd

package foreign

// waitUnreaped does not wait, so that what a program leaves in its group is left running.
func waitUnreaped(int) bool { return false }
