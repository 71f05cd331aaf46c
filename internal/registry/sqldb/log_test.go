package sqldb_test

import (
	"fmt"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/hallmark-mcp/hallmark/internal/registry/registrytest"
	"github.com/hallmark-mcp/hallmark/internal/registry/sqldb"
	"github.com/hallmark-mcp/hallmark/ledger"
)

// Extending in one step or in many gives the same subtrees, up to those of 65,536
// entries.
func TestExtend(t *testing.T) {
	const size = 66_000
	leaves := make([]ledger.Leaf, size)
	for i := range leaves {
		leaves[i] = ledger.Leaf{Kind: ledger.Server, Name: fmt.Sprint("n", i), Version: "1",
			Document: registrytest.Sum("x"), Publisher: "p", At: registrytest.Epoch.Truncate(time.Second)}
	}
	kept := map[int][]tlog.Hash{}
	edge := ledger.Edge{}
	for at, step := 0, 1; at < size; at, step = at+step, step%700+13 {
		a, err := sqldb.ExtendLog(edge, leaves[at:min(at+step, size)], func(level int, first int64, n int) ([]tlog.Hash, error) {
			return kept[level][first : first+int64(n)], nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if a.First != int64(at) {
			t.Fatalf("first is %d, not %d", a.First, at)
		}
		kept[0] = append(kept[0], a.Hashes...)
		for _, n := range a.Nodes {
			if n.Index != int64(len(kept[n.Level])) {
				t.Fatalf("subtree %d of level %d after %d", n.Index, n.Level, len(kept[n.Level]))
			}
			kept[n.Level] = append(kept[n.Level], n.Hash)
		}
		edge = a.Edge
	}
	whole, err := sqldb.ExtendLog(ledger.Edge{}, leaves, nil)
	if err != nil {
		t.Fatal(err)
	}
	if whole.Edge.Root() != edge.Root() || len(kept[1]) != size/256 || len(kept[2]) != 1 ||
		len(whole.Nodes) != size/256+1 {
		t.Fatalf("%d and %d subtrees", len(kept[1]), len(kept[2]))
	}
	for _, n := range whole.Nodes {
		if kept[n.Level][n.Index] != n.Hash {
			t.Errorf("subtree %d of level %d differs", n.Index, n.Level)
		}
	}
	var stored []tlog.Hash
	for i, h := range kept[0][:65536] {
		more, err := tlog.StoredHashesForRecordHash(int64(i), h,
			tlog.HashReaderFunc(func(indexes []int64) (out []tlog.Hash, _ error) {
				for _, i := range indexes {
					out = append(out, stored[i])
				}
				return out, nil
			}))
		if err != nil {
			t.Fatal(err)
		}
		stored = append(stored, more...)
	}
	if stored[tlog.StoredHashIndex(16, 0)] != kept[2][0] || stored[tlog.StoredHashIndex(8, 77)] != kept[1][77] {
		t.Error("the subtrees are not those of the library")
	}
}
