package ledger

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"golang.org/x/mod/sumdb/tlog"
)

// Edge is the right edge of a tree: what is needed to add to it and to know its
// root. The zero value belongs to the empty tree.
type Edge struct {
	Size   int64
	Hashes []tlog.Hash // roots of the perfect subtrees, the largest first: one for each bit of Size
}

// Add adds the hash of one leaf.
func (e *Edge) Add(h tlog.Hash) {
	for n := e.Size; n&1 == 1; n >>= 1 {
		last := len(e.Hashes) - 1
		h = tlog.NodeHash(e.Hashes[last], h)
		e.Hashes = e.Hashes[:last]
	}
	e.Hashes = append(e.Hashes, h)
	e.Size++
}

// Root is the root of the tree.
func (e *Edge) Root() tlog.Hash {
	if len(e.Hashes) == 0 {
		root, _ := tlog.TreeHash(0, nil)
		return root
	}
	root := e.Hashes[len(e.Hashes)-1]
	for _, left := range slices.Backward(e.Hashes[:len(e.Hashes)-1]) {
		root = tlog.NodeHash(left, root)
	}
	return root
}

// Clone is an edge that shares nothing with e.
func (e *Edge) Clone() Edge { return Edge{e.Size, slices.Clone(e.Hashes)} }

// Marshal is the size as eight bytes, big-endian, and the hashes.
func (e *Edge) Marshal() []byte {
	b := binary.BigEndian.AppendUint64(make([]byte, 0, 8+len(e.Hashes)*tlog.HashSize), uint64(e.Size))
	for _, h := range e.Hashes {
		b = append(b, h[:]...)
	}
	return b
}

// ParseEdge reads what Marshal wrote.
func ParseEdge(b []byte) (Edge, error) {
	if len(b) < 8 {
		return Edge{}, malformedError("edge of a tree")
	}
	size := binary.BigEndian.Uint64(b)
	if b = b[8:]; size > MaxSize || len(b) != bits.OnesCount64(size)*tlog.HashSize {
		return Edge{}, malformedError("edge of a tree")
	}
	e := Edge{Size: int64(size)}
	for ; len(b) > 0; b = b[tlog.HashSize:] {
		e.Hashes = append(e.Hashes, tlog.Hash(b[:tlog.HashSize]))
	}
	return e, nil
}
