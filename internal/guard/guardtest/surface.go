package guardtest

import (
	"testing"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/surface"
)

// Versions are the versions of the protocol that servers of the SDK speak.
var Versions = []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"}

// Approve is the digests of items, each after its kind.
func Approve(t testing.TB, kindAndItem ...string) map[string]digest.Digest {
	t.Helper()
	items := map[string]digest.Digest{}
	for i := 0; i < len(kindAndItem); i += 2 {
		it, err := surface.NewItem(surface.Kind(kindAndItem[i]), []byte(kindAndItem[i+1]))
		if err != nil {
			t.Fatal(err)
		}
		items[it.Key()] = it.Digest
	}
	return items
}

// Keys returns the keys of the items in l, in the order of the surface, and their digests.
func Keys(t *testing.T, l surface.Listing) (keys []string, items map[string]digest.Digest) {
	t.Helper()
	s, err := surface.New(l)
	if err != nil {
		t.Fatal(err)
	}
	items = map[string]digest.Digest{}
	for _, it := range s.Items() {
		keys = append(keys, it.Key())
		items[it.Key()] = it.Digest
	}
	return keys, items
}
