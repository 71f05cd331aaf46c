package log

import (
	"slices"
	"testing"

	"golang.org/x/mod/sumdb/tlog"
)

// Hashes that were read before they were signed, and are others afterwards, as after a
// database lost what it had committed, do not stay in memory.
func TestTileCacheFollows(t *testing.T) {
	var c tileCache
	hashes := make([]tlog.Hash, 5)
	for i := range hashes {
		hashes[i][0] = byte(i + 1)
	}
	c.add(0, 2, hashes[2:]) // from the middle: nothing is known of what is before
	if got := c.get(tilePlace{0, 0}, 0, 0, 1); got != nil {
		t.Errorf("%v is taken for the first hashes", got)
	}
	c.add(0, 0, hashes[:4])
	c.add(0, 2, hashes[2:])
	if got := c.get(tilePlace{0, 0}, 0, 0, 9); !slices.Equal(got, hashes) {
		t.Errorf("%v", got)
	}
	other := tlog.Hash{9}
	c.add(0, 3, []tlog.Hash{other})
	if got := c.get(tilePlace{0, 0}, 0, 0, 9); got != nil {
		t.Errorf("%v stays", got)
	}
	c.add(0, 0, append(hashes[:3:3], other))
	if got := c.get(tilePlace{0, 0}, 2, 0, 1); len(got) != 1 ||
		got[0] != tlog.NodeHash(tlog.NodeHash(hashes[0], hashes[1]), tlog.NodeHash(hashes[2], other)) {
		t.Errorf("%v", got)
	}
}
