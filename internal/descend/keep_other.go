//go:build !linux

package descend

// Keep does nothing: there are no keepers.
func Keep() {}

// killPatience is of keepers.
const killPatience = 0
