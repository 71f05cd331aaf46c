package host

import (
	"errors"
	"sync/atomic"
	"testing"
)

func TestForEach(t *testing.T) {
	for _, width := range []int{1, 3, 200} {
		calls := make([]atomic.Int32, 100)
		if err := ForEach(width, len(calls), func(i int) error { calls[i].Add(1); return nil }); err != nil {
			t.Error(err)
		}
		for i := range calls {
			if n := calls[i].Load(); n != 1 {
				t.Errorf("width %d: %d was called %d times", width, i, n)
			}
		}
	}
	if err := ForEach(4, 0, func(int) error { return errors.New("called") }); err != nil {
		t.Error(err)
	}
	var last int
	failed := errors.New("failed")
	err := ForEach(1, 100, func(i int) error {
		if last = i; i >= 7 {
			return failed
		}
		return nil
	})
	if !errors.Is(err, failed) || last != 7 {
		t.Errorf("%v after %d", err, last)
	}
}
