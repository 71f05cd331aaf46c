package engine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/digest"
)

// made returns a hash that begins with these digits, as somebody who makes files for it could get.
func made(t *testing.T, beginning string, end int) digest.Digest {
	t.Helper()
	d, err := digest.ParseHex(digest.SHA256, fmt.Sprintf("%s%0*x", beginning, 64-len(beginning), end))
	must(t, err)
	return d
}

// TestExpand: an abbreviation stands for what was shown, not for the file as it is now if that begins with the same
// digits; and for both of two that were shown.
func TestExpand(t *testing.T) {
	const digits = "0123456789ab"
	shown, other, now := made(t, digits, 1), made(t, digits, 2), made(t, digits, 3)
	expand := func(r *reader, digits string) string { return strings.Join(r.Expand(digits, now), " ") }
	r := newReader(0)
	if got := expand(r, digits); got != now.Hex() {
		t.Errorf("before anything was shown: %s", got)
	}
	r.NoteShown(shown)
	r.NoteShown(shown)
	if got := expand(r, digits); got != shown.Hex() {
		t.Errorf("one was shown: %s", got)
	}
	r.NoteShown(other)
	if got := expand(r, digits); got != shown.Hex()+" "+other.Hex() {
		t.Errorf("two were shown: %s", got)
	}
	if got := expand(r, other.Hex()[:63]); got != shown.Hex()+" "+other.Hex() {
		t.Errorf("with 63 digits: %s", got)
	}
	if got := expand(r, strings.Repeat("f", 12)); got != "" {
		t.Errorf("of no file: %s", got)
	}
}

// TestShownIsBounded: the hashes that were shown first are forgotten, and no more are held.
func TestShownIsBounded(t *testing.T) {
	r := newReader(0)
	hash := func(i int) digest.Digest { return made(t, fmt.Sprintf("%012x", i), i) }
	for i := range maxShown + 10 {
		r.NoteShown(hash(i))
	}
	if len(r.shown.known) != maxShown || len(r.shown.order) != maxShown {
		t.Errorf("%d and %d are held", len(r.shown.known), len(r.shown.order))
	}
	now := made(t, "ffffffffffff", 0)
	for i, want := range map[int]int{0: 0, 9: 0, 10: 1, maxShown + 9: 1} {
		if got := r.Expand(hash(i).Hex()[:shownDigits], now); len(got) != want {
			t.Errorf("of hash %d are known %q", i, got)
		}
	}
}
