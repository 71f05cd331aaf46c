//go:build !linux

package descend

// Nothing is known of processes but the first of each family: its group is killed when it
// has ended, and what made a group or session of its own stays.

func prepareReaping() error { return nil }

func runOnStarter(f func()) { f() }

func (f *Family) endRest() {}

func endAll() {}
