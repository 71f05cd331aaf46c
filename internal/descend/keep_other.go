//go:build !linux

package descend

// EnableKeepers does nothing: there are no keepers.
func EnableKeepers() {}

// killPatience is of keepers.
const killPatience = 0
