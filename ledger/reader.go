package ledger

import (
	"fmt"

	"golang.org/x/mod/sumdb/tlog"
)

// Reader reads a log by its tiles, and refuses those that do not fit the
// checkpoint. It is not safe for concurrent use.
type Reader struct {
	At Checkpoint // must have been verified
	// Fetch returns the bytes at a path such as "tile/0/000.p/7", at most
	// [MaxBundle] of them.
	Fetch func(path string) ([]byte, error)

	knownTiles map[string][]byte // verified tiles of hashes
}

// maxKnown bounds the tiles that a Reader keeps: 2 MiB.
const maxKnown = 256

// ReadHashes returns stored hashes of the tree, each proven to be in it, and
// makes Reader a [tlog.HashReader].
func (r *Reader) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	if r.At.Size <= 0 || r.At.Size > MaxSize {
		return nil, fmt.Errorf("log %+q: a tree of %d entries has no hashes", r.At.Origin, r.At.Size)
	}
	for _, i := range indexes {
		if i < 0 || i >= tlog.StoredHashIndex(0, r.At.Size) {
			return nil, fmt.Errorf("log %+q: stored hash %d is beyond its %d entries", r.At.Origin, i, r.At.Size)
		}
	}
	source := &tileReader{r: r}
	hashes, err := tlog.TileHashReader(tlog.Tree{N: r.At.Size, Hash: r.At.Root}, source).ReadHashes(indexes)
	if err != nil && source.err == nil {
		// All tiles came; they do not make the root.
		return nil, fmt.Errorf("log %+q: %w: its tiles are not those of its tree of %d entries", r.At.Origin, ErrFork,
			r.At.Size)
	}
	return hashes, err
}

// Prove returns the proof that the entry is in the tree.
func (r *Reader) Prove(index int64) ([]tlog.Hash, error) {
	if index < 0 || index >= r.At.Size {
		return nil, fmt.Errorf("log %+q: entry %d is beyond its %d entries", r.At.Origin, index, r.At.Size)
	}
	return tlog.ProveRecord(r.At.Size, index, r)
}

// ProveSince returns the proof that the tree begins with its first size entries.
func (r *Reader) ProveSince(size int64) ([]tlog.Hash, error) {
	if size < 0 || size > r.At.Size {
		return nil, fmt.Errorf("%w: it went back from %d entries to %d", ErrFork, size, r.At.Size)
	}
	if size == 0 || size == r.At.Size {
		return nil, nil
	}
	return tlog.ProveTree(r.At.Size, size, r)
}

// CheckExtends checks that the log continues the one of an older checkpoint.
func (r *Reader) CheckExtends(older Checkpoint) error {
	if older.Origin != r.At.Origin || older.Size >= r.At.Size {
		return CheckConsistency(older, r.At, nil)
	}
	proof, err := r.ProveSince(older.Size)
	if err != nil {
		return err
	}
	return CheckConsistency(older, r.At, proof)
}

// Bundle returns the leaves of bundle n, as many as the tree has, each checked
// against the tree. An error wraps [ErrFork] and names the entry that does not
// fit.
func (r *Reader) Bundle(n int64) ([][]byte, error) {
	t, ok := NewTile(Entries, n, r.At.Size)
	if !ok {
		return nil, fmt.Errorf("log %+q: bundle %d is beyond its %d entries", r.At.Origin, n, r.At.Size)
	}
	data, err := r.fetchTile(t)
	if err != nil {
		return nil, err
	}
	leaves, err := r.splitBundle(data, t)
	if err != nil {
		return nil, err
	}
	indexes := make([]int64, len(leaves))
	for i := range leaves {
		indexes[i] = tlog.StoredHashIndex(0, n*TileWidth+int64(i))
	}
	hashes, err := r.ReadHashes(indexes)
	if err != nil {
		return nil, err
	}
	for i, leaf := range leaves {
		if tlog.RecordHash(leaf) != hashes[i] {
			return nil, fmt.Errorf("%s: %w: entry %d is not the one in its tree of %d entries",
				TilePath(t), ErrFork, n*TileWidth+int64(i), r.At.Size)
		}
	}
	return leaves, nil
}

// Entry returns one leaf, checked against the tree.
func (r *Reader) Entry(index int64) ([]byte, error) {
	if index < 0 || index >= r.At.Size {
		return nil, fmt.Errorf("log %+q: entry %d is beyond its %d entries", r.At.Origin, index, r.At.Size)
	}
	leaves, err := r.Bundle(index / TileWidth)
	if err != nil {
		return nil, err
	}
	return leaves[index%TileWidth], nil
}

// splitBundle returns the first t.W leaves of data, which may be the full bundle
// in place of the partial one that was asked for.
func (r *Reader) splitBundle(data []byte, t tlog.Tile) ([][]byte, error) {
	leaves, err := SplitBundle(data, t.W)
	if err == nil || t.W == TileWidth {
		return leaves, err
	}
	if full, fullErr := SplitBundle(data, TileWidth); fullErr == nil {
		return full[:t.W], nil
	}
	return nil, fmt.Errorf("%s: %w", TilePath(t), err)
}

// fetchTile reads a tile. If a partial one is not there it reads the full one, as
// logs may drop partial tiles.
func (r *Reader) fetchTile(t tlog.Tile) ([]byte, error) {
	data, err := r.Fetch(TilePath(t))
	if err != nil && t.W < TileWidth {
		full := t
		full.W = TileWidth
		if wide, fullErr := r.Fetch(TilePath(full)); fullErr == nil {
			return wide, nil
		}
	}
	if err != nil {
		return nil, err
	}
	if len(data) > MaxBundle {
		return nil, malformedError("%s: more than %d bytes", TilePath(t), MaxBundle)
	}
	return data, nil
}

// tileReader is a [tlog.TileReader] of a Reader.
type tileReader struct {
	r   *Reader
	err error // of a fetch
}

func (t *tileReader) Height() int { return tileHeight }

func (t *tileReader) ReadTiles(wanted []tlog.Tile) (_ [][]byte, err error) {
	defer func() { t.err = err }()
	data := make([][]byte, len(wanted))
	for i, w := range wanted {
		if known, ok := t.r.knownTiles[TilePath(w)]; ok {
			data[i] = known
			continue
		}
		got, err := t.r.fetchTile(w)
		if err != nil {
			return nil, err
		}
		if size := w.W * tlog.HashSize; len(got) == size || len(got) == TileWidth*tlog.HashSize {
			data[i] = got[:size]
		} else {
			return nil, fmt.Errorf("%s: %w: %d bytes, not %d", TilePath(w), ErrFork, len(got), size)
		}
	}
	return data, nil
}

func (t *tileReader) SaveTiles(verified []tlog.Tile, data [][]byte) {
	if t.r.knownTiles == nil || len(t.r.knownTiles)+len(verified) > maxKnown {
		t.r.knownTiles = make(map[string][]byte)
	}
	for i, v := range verified {
		t.r.knownTiles[TilePath(v)] = data[i]
	}
}
