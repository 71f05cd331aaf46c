//go:build !linux

package descend

// Nothing is known of processes but the first of each family: its group is killed when it
// has ended, and what made a group or session of its own stays.

func prepare() error { return nil }

func onThread(f func()) { f() }

func (f *Family) clear() {}

func sweep() {}
