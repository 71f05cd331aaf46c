package registry

import (
	"context"
	"fmt"
	"sync"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/hallmark-mcp/hallmark/ledger"
)

// maxTiles bounds a tileCache: 4 MiB.
const maxTiles = 512

// tileCache keeps tiles of hashes, as far as they were read. Hashes of a log do not
// change, so that what was read stays right.
type tileCache struct {
	mu    sync.Mutex
	tiles map[tilePlace][]byte // the first hashes of each
}

type tilePlace struct {
	level int
	n     int64
}

// get returns the first width hashes of a tile, or nil.
func (c *tileCache) get(at tilePlace, width int) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if data := c.tiles[at]; len(data) >= width*tlog.HashSize {
		return data[:width*tlog.HashSize]
	}
	return nil
}

// put keeps the first hashes of a tile.
func (c *tileCache) put(at tilePlace, data []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tiles == nil || len(c.tiles) >= maxTiles {
		c.tiles = make(map[tilePlace][]byte)
	}
	if len(data) > len(c.tiles[at]) {
		c.tiles[at] = data
	}
}

// add keeps hashes of entries from the one with the index first on, where they
// continue what is kept.
func (c *tileCache) add(first int64, hashes []tlog.Hash) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, h := range hashes {
		index := first + int64(i)
		at := tilePlace{0, index / ledger.TileWidth}
		if have := len(c.tiles[at]) / tlog.HashSize; int64(have) != index%ledger.TileWidth {
			continue
		}
		if c.tiles == nil || c.tiles[at] == nil && len(c.tiles) >= maxTiles {
			c.tiles = make(map[tilePlace][]byte)
		}
		if c.tiles[at] == nil {
			c.tiles[at] = make([]byte, 0, ledger.TileWidth*tlog.HashSize) // never moved, so that slices of it may be read
		}
		c.tiles[at] = append(c.tiles[at], h[:]...)
	}
}

// tile returns the bytes of a tile of hashes, or ErrNotFound if the log ends before.
func (l *Log) tile(ctx context.Context, t tlog.Tile) ([]byte, error) {
	at := tilePlace{t.L, t.N}
	if data := l.tiles.get(at, t.W); data != nil {
		return data, nil
	}
	hashes, err := l.entries.LogHashes(ctx, t.L, t.N*ledger.TileWidth, ledger.TileWidth)
	if err != nil {
		return nil, err
	}
	if len(hashes) < t.W {
		return nil, ErrNotFound
	}
	data := make([]byte, 0, ledger.TileWidth*tlog.HashSize)
	for _, h := range hashes {
		data = append(data, h[:]...)
	}
	l.tiles.put(at, data)
	return data[:t.W*tlog.HashSize], nil
}

// hashes reads hashes of the tree as the library numbers them.
func (l *Log) hashes(ctx context.Context) tlog.HashReader {
	return tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		out := make([]tlog.Hash, len(indexes))
		for i, index := range indexes {
			t := tlog.TileForIndex(8, index)
			data, err := l.tile(ctx, t)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", ledger.TilePath(t), err)
			}
			if out[i], err = tlog.HashFromTile(t, data, index); err != nil {
				return nil, err
			}
		}
		return out, nil
	})
}

// bundle returns the bytes of a bundle of entries.
func (l *Log) bundle(ctx context.Context, t tlog.Tile) ([]byte, error) {
	leaves, err := l.entries.LogEntries(ctx, t.N*ledger.TileWidth, t.W)
	if err != nil {
		return nil, err
	}
	if len(leaves) != t.W {
		return nil, fmt.Errorf("%s: the database has %d of %d entries", ledger.TilePath(t), len(leaves), t.W)
	}
	var b []byte
	for _, leaf := range leaves {
		if b, err = ledger.AppendEntry(b, leaf); err != nil {
			return nil, err
		}
	}
	return b, nil
}
