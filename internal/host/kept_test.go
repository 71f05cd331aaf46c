package host

import "testing"

// TestKept: what is kept is one for each command and type, and nothing without a command.
func TestKept(t *testing.T) {
	type count struct{ n int }
	k := new(Kept)
	KeptOf[count](k).n = 3
	*KeptOf[int](k) = 5
	if got := KeptOf[count](k).n; got != 3 || *KeptOf[int](k) != 5 {
		t.Errorf("%d, %d", got, *KeptOf[int](k))
	}
	if got := KeptOf[count](new(Kept)).n; got != 0 {
		t.Errorf("%d of another command", got)
	}
	KeptOf[count](nil).n = 3
	if got := KeptOf[count](nil).n; got != 0 {
		t.Errorf("%d of none", got)
	}
}
