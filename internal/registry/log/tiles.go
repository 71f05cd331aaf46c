package log

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/ledger"
)

// maxTiles bounds a tileCache: 8 MiB.
const maxTiles = 512

// tileCache keeps tiles of hashes, as far as they were read. The hashes of signed entries never
// change. A hash that was read before it was signed can change, if the database loses a commit.
type tileCache struct {
	mu    sync.Mutex
	tiles map[tilePlace]*subtree
}

// tilePlace is tile n of a level.
type tilePlace struct {
	level int
	n     int64
}

// subtree is the first hashes of a tile and all that they make: row k has the roots of
// runs of 2^k of them.
type subtree struct{ rows [9][]tlog.Hash }

func (s *subtree) add(h tlog.Hash) {
	s.rows[0] = append(s.rows[0], h)
	for k := 0; len(s.rows[k])%2 == 0; k++ {
		pair := s.rows[k][len(s.rows[k])-2:]
		s.rows[k+1] = append(s.rows[k+1], tlog.NodeHash(pair[0], pair[1]))
	}
}

// at returns the subtree at a place, an empty one if there is none.
func (c *tileCache) at(p tilePlace) *subtree {
	s := c.tiles[p]
	if s == nil {
		if c.tiles == nil || len(c.tiles) >= maxTiles {
			c.tiles = make(map[tilePlace]*subtree)
		}
		s = new(subtree)
		c.tiles[p] = s
	}
	return s
}

// get returns up to n roots of a row, from the one with the index first on.
func (c *tileCache) get(p tilePlace, row, first, n int) []tlog.Hash {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.tiles[p]
	if s == nil || first >= len(s.rows[row]) {
		return nil
	}
	return slices.Clone(s.rows[row][first:min(first+n, len(s.rows[row]))])
}

// add keeps hashes of a level from the one with the index first on, where they continue
// what is kept.
func (c *tileCache) add(level int, first int64, hashes []tlog.Hash) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, h := range hashes {
		index := first + int64(i)
		place, at := tilePlace{level, index / ledger.TileWidth}, int(index%ledger.TileWidth)
		s := c.at(place)
		if at < len(s.rows[0]) && s.rows[0][at] != h {
			c.tiles = nil // the database lost an unsigned entry, and may have lost others
			s = c.at(place)
		}
		if len(s.rows[0]) == at {
			s.add(h)
		}
	}
}

// row returns n roots of a row of a tile, or ErrNotFound if the log ends before.
func (l *Log) row(ctx context.Context, p tilePlace, row, first, n int) ([]tlog.Hash, error) {
	if roots := l.tiles.get(p, row, first, n); len(roots) == n {
		return roots, nil
	}
	hashes, err := l.entries.LogHashes(ctx, p.level, p.n*ledger.TileWidth, ledger.TileWidth)
	if err != nil {
		return nil, err
	}
	var fresh subtree
	for _, h := range hashes {
		fresh.add(h)
	}
	l.tiles.add(p.level, p.n*ledger.TileWidth, hashes)
	if len(fresh.rows[row]) < first+n {
		return nil, registry.ErrNotFound
	}
	return fresh.rows[row][first : first+n], nil
}

// Tile returns the bytes of a tile of hashes, or ErrNotFound if the log ends before.
func (l *Log) Tile(ctx context.Context, t tlog.Tile) ([]byte, error) {
	hashes, err := l.row(ctx, tilePlace{t.L, t.N}, 0, 0, t.W)
	if err != nil {
		return nil, err
	}
	data := make([]byte, 0, len(hashes)*tlog.HashSize)
	for _, h := range hashes {
		data = append(data, h[:]...)
	}
	return data, nil
}

// hashes returns a reader of the tree's hashes, which are numbered as in package tlog.
func (l *Log) hashes(ctx context.Context) tlog.HashReader {
	return tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		out := make([]tlog.Hash, len(indexes))
		for i, index := range indexes {
			level, n := tlog.SplitStoredHashIndex(index)
			row := level % 8
			width := int64(ledger.TileWidth >> row) // roots of that row in a tile
			root, err := l.row(ctx, tilePlace{level / 8, n / width}, row, int(n%width), 1)
			if err != nil {
				return nil, fmt.Errorf("log: hash %d of level %d: %w", n, level, err)
			}
			out[i] = root[0]
		}
		return out, nil
	})
}

// Bundle returns the bytes of a bundle of entries, or ErrNotFound if the log ends before.
func (l *Log) Bundle(ctx context.Context, t tlog.Tile) ([]byte, error) {
	leaves, err := l.entries.LogEntries(ctx, t.N*ledger.TileWidth, t.W)
	if err != nil {
		return nil, fmt.Errorf("read %d entries of the log from %d: %w", t.W, t.N*ledger.TileWidth, err)
	}
	if len(leaves) != t.W {
		return nil, fmt.Errorf("%w: the database has %d of %d entries", registry.ErrNotFound, len(leaves), t.W)
	}
	var b []byte
	for _, leaf := range leaves {
		if b, err = ledger.AppendEntry(b, leaf); err != nil {
			return nil, err
		}
	}
	return b, nil
}
