//go:build !linux

package foreign

// EnableKeepers does nothing: there are no keepers.
func EnableKeepers() {}

// killPatience is 0: it is used only with a keeper.
const killPatience = 0
