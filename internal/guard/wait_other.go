//go:build unix && !linux && !darwin && !dragonfly && !freebsd && !netbsd && !openbsd

package guard

// waitUnreaped does not wait: what a server leaves in its group is left running.
func waitUnreaped(int) bool { return false }
