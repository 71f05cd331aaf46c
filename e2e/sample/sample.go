// Package sample chooses what a test tries of a campaign that takes too long for every day.
//
// A test tries a few cases, chosen by a seed that it prints. HALLMARK_SEED is another seed; without it the seed is
// the same each time, so that what fails is what changed. HALLMARK_CAMPAIGN=whole tries every case, as the campaigns
// of the Makefile do.
package sample

import (
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
)

// Whole reports whether every case is to be tried.
func Whole() bool { return os.Getenv("HALLMARK_CAMPAIGN") == "whole" }

// Rand gives the numbers by which a test chooses, and prints their seed.
func Rand(t testing.TB) *rand.Rand {
	t.Helper()
	return rand.New(rand.NewPCG(Seed(t), 0))
}

// Seed gives the seed, and prints it.
func Seed(t testing.TB) uint64 {
	t.Helper()
	seed := uint64(1)
	if text := os.Getenv("HALLMARK_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("HALLMARK_SEED is %q, which is no number", text)
		}
	}
	t.Logf("HALLMARK_SEED=%d repeats this choice, HALLMARK_CAMPAIGN=whole tries everything", seed)
	return seed
}

// Of gives n of all cases, in their order; all of them if there are no more, or if [Whole].
func Of[E any](t testing.TB, all []E, n int) []E {
	t.Helper()
	if Whole() || len(all) <= n {
		return all
	}
	at := Rand(t).Perm(len(all))[:n]
	slices.Sort(at)
	some := make([]E, n)
	for i := range some {
		some[i] = all[at[i]]
	}
	return some
}
