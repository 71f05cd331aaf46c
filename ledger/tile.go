package ledger

import (
	"encoding/binary"
	"strings"

	"golang.org/x/mod/sumdb/tlog"
)

// The shape of C2SP tlog-tiles.
const (
	tileHeight = 8
	TileWidth  = 1 << tileHeight // hashes or leaves of a full tile
)

// MaxBundle is the most bytes that a bundle of entries has.
const MaxBundle = TileWidth * (2 + MaxLeaf)

// Entries is the level of a tile of entries, a bundle.
const Entries = -1

// maxTilePath is longer than the path of any tile of a log of MaxSize entries.
const maxTilePath = 64

// NewTile is tile n of a level, [Entries] for bundles, with as many hashes or
// leaves as it has in a tree of that size; false if that tree has no such tile.
func NewTile(level int, n, size int64) (tlog.Tile, bool) {
	if level < Entries || level > 7 || n < 0 || size < 0 || size > MaxSize {
		return tlog.Tile{}, false
	}
	have := size >> (tileHeight * max(level, 0)) // hashes on that level
	if n >= MaxSize/TileWidth || n*TileWidth >= have {
		return tlog.Tile{}, false
	}
	return tlog.Tile{H: tileHeight, L: level, N: n, W: int(min(have-n*TileWidth, TileWidth))}, true
}

// InTree reports whether a tree of that size has all of t.
func InTree(t tlog.Tile, size int64) bool {
	whole, ok := NewTile(t.L, t.N, size)
	return ok && t.W >= 1 && t.W <= whole.W
}

// TilePath is the path of t as C2SP writes it, "tile/0/x001/234.p/7", without a
// slash before it.
func TilePath(t tlog.Tile) string {
	// Go's form has the height as well, and calls entries data.
	_, path, _ := strings.Cut(strings.TrimPrefix(t.Path(), "tile/"), "/")
	if rest, ok := strings.CutPrefix(path, "data/"); ok {
		path = "entries/" + rest
	}
	return "tile/" + path
}

// ParseTilePath reads the path of a tile or bundle, in its one form.
func ParseTilePath(path string) (tlog.Tile, error) {
	rest, ok := strings.CutPrefix(path, "tile/")
	if !ok || len(path) > maxTilePath {
		return tlog.Tile{}, malformedError("tile path %+.80q", path)
	}
	if n, ok := strings.CutPrefix(rest, "entries/"); ok {
		rest = "data/" + n
	} else if strings.HasPrefix(rest, "data/") {
		return tlog.Tile{}, malformedError("tile path %+.80q", path)
	}
	t, err := tlog.ParseTilePath("tile/8/" + rest)
	if err != nil || t.L > 7 || t.N >= MaxSize/TileWidth {
		return tlog.Tile{}, malformedError("tile path %+.80q", path)
	}
	return t, nil
}

// AppendEntry appends a leaf's encoding to a bundle.
func AppendEntry(bundle, leaf []byte) ([]byte, error) {
	if len(leaf) > MaxLeaf {
		return nil, malformedError("leaf: %d bytes, more than %d", len(leaf), MaxLeaf)
	}
	return append(binary.BigEndian.AppendUint16(bundle, uint16(len(leaf))), leaf...), nil
}

// SplitBundle returns the leaves of a bundle, which must hold exactly width of
// them. They share its memory.
func SplitBundle(bundle []byte, width int) ([][]byte, error) {
	leaves := make([][]byte, 0, min(width, TileWidth))
	for len(bundle) > 0 {
		if len(bundle) < 2 {
			return nil, malformedError("bundle: it ends inside a length")
		}
		n := int(binary.BigEndian.Uint16(bundle))
		if len(bundle) < 2+n {
			return nil, malformedError("bundle: it ends inside a leaf")
		}
		if len(leaves) == width {
			return nil, malformedError("bundle: more than its %d leaves", width)
		}
		leaves = append(leaves, bundle[2:2+n:2+n])
		bundle = bundle[2+n:]
	}
	if len(leaves) != width {
		return nil, malformedError("bundle: %d leaves, not %d", len(leaves), width)
	}
	return leaves, nil
}
