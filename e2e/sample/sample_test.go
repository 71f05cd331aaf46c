package sample

import (
	"slices"
	"testing"
)

func TestOf(t *testing.T) {
	all := []int{1, 2, 3, 4, 5, 6, 7, 8, 9}
	t.Setenv("HALLMARK_CAMPAIGN", "")
	t.Setenv("HALLMARK_SEED", "")
	some := Of(t, all, 4)
	if len(some) != 4 || !slices.IsSorted(some) || len(slices.Compact(slices.Clone(some))) != 4 ||
		!slices.Equal(some, Of(t, all, 4)) {
		t.Errorf("%v, and then %v", some, Of(t, all, 4))
	}
	if got := Of(t, all, 9); !slices.Equal(got, all) {
		t.Errorf("all are %v", got)
	}
	seen := map[int]bool{}
	for _, seed := range []string{"2", "3", "4", "5", "6", "7", "8", "9", "10", "11"} {
		t.Setenv("HALLMARK_SEED", seed)
		for _, n := range Of(t, all, 4) {
			seen[n] = true
		}
	}
	if len(seen) != len(all) {
		t.Errorf("ten seeds chose only %v", seen)
	}
	t.Setenv("HALLMARK_CAMPAIGN", "whole")
	if got := Of(t, all, 4); !slices.Equal(got, all) {
		t.Errorf("the whole is %v", got)
	}
}
