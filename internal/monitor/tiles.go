package monitor

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"golang.org/x/mod/sumdb/tlog"
	"golang.org/x/sync/errgroup"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/ledger"
)

// bundlesAtOnce is the number of bundles that are fetched at once: at most 64 MiB of memory.
const bundlesAtOnce = 4

// saveEvery is the number of entries after which a long replay writes the state.
const saveEvery = 1 << 17

// replayTo reads the entries up to head, and compares the tiles and the root that they make with
// those of the log. It writes the state after every saveEvery entries.
func (m *monitor) replayTo(ctx context.Context, head ledger.Signed) error {
	start := m.state.replay.Size()
	saved := start
	for m.state.replay.Size() < head.Size {
		if err := m.replayBundles(ctx, head.Size); err != nil {
			return err
		}
		size := m.state.replay.Size()
		if m.options.State == "" || size-saved < saveEvery || size == head.Size {
			continue
		}
		// Only entries of this log may be written: head must begin with them.
		prefix := ledger.Checkpoint{Origin: head.Origin, Size: size, Root: m.state.replay.Root()}
		if err := m.checkExtends(ctx, head, prefix); err != nil {
			return m.addWrongRoot(ctx, head, start, err)
		}
		m.state.head = ledger.Signed{Checkpoint: prefix, Note: head.Note}
		if err := m.state.Write(m.options.State); err != nil {
			return err
		}
		saved = size
	}
	if err := m.state.replay.Check(head.Checkpoint); err != nil {
		return m.addWrongRoot(ctx, head, start, err)
	}
	if err := m.comparePartialTiles(ctx, head.Size); err != nil {
		return err
	}
	m.read += m.state.replay.Size() - start
	m.state.head = head
	return m.state.Write(m.options.State)
}

// checkExtends returns nil if head is a log that begins with older, and ledger.ErrFork if not.
func (m *monitor) checkExtends(ctx context.Context, head ledger.Signed, older ledger.Checkpoint) error {
	r := ledger.Reader{At: head.Checkpoint,
		Fetch: func(path string) ([]byte, error) { return m.source.tile(ctx, path) }}
	return r.CheckExtends(older)
}

// addWrongRoot adds the anomaly of entries that do not make the tree of head: either head is not the
// log that was read before, or the entries are not those of its tree. It drops what was read since
// the last verified state.
func (m *monitor) addWrongRoot(ctx context.Context, head ledger.Signed, start int64, cause error) error {
	if !errors.Is(cause, ledger.ErrFork) {
		return evidence.Errorf(evidence.ClassOf(cause), m.name, "", cause)
	}
	size, root, old := m.state.replay.Size(), m.state.replay.Root(), m.state.head
	if start > 0 {
		err := m.checkExtends(ctx, head, old.Checkpoint)
		if errors.Is(err, ledger.ErrFork) {
			m.addFork(old, head, nil)
			return errors.Join(m.addFirstDifference(ctx, head, old.Size), m.restoreState())
		}
		if err != nil {
			return evidence.Errorf(evidence.ClassOf(err), m.name, "", err)
		}
	}
	m.addAnomaly(Anomaly{
		What: AnomalyRoot, Expected: head.Root.String(), Actual: root.String(),
		Detail: fmt.Sprintf("the checkpoint's root of its tree, and the one of the %d entries as they are served",
			size),
	})
	return errors.Join(m.comparePartialTiles(ctx, size), m.restoreState()) // a tile that differs shows where
}

// addFirstDifference adds the anomaly of the first entry of a forked log that differs from the one
// that was read before.
func (m *monitor) addFirstDifference(ctx context.Context, head ledger.Signed, size int64) error {
	size = min(size, m.state.replay.Size(), head.Size)
	for n := int64(0); n*ledger.TileWidth < size; n++ {
		leaves, err := m.readBundle(ctx, n, head.Size)
		if err != nil {
			return err
		}
		for i, text := range leaves[:min(int64(len(leaves)), size-n*ledger.TileWidth)] {
			index := n*ledger.TileWidth + int64(i)
			want := m.state.document(index)
			leaf, err := ledger.ParseLeaf(text)
			if err == nil && evidence.Same(recordDigest(leaf), want) {
				continue
			}
			m.addAnomaly(Anomaly{
				What: AnomalyFork, Index: &index, Subject: leaf.Subject(), Expected: "document " + want.String(),
				Actual: "document " + leaf.Document.String(),
				Detail: "the first entry that is another one than was read before",
			})
			return nil
		}
	}
	return nil
}

// readBundle reads one bundle of a tree of that size without verifying it.
func (m *monitor) readBundle(ctx context.Context, n, size int64) ([][]byte, error) {
	t, ok := ledger.NewTile(ledger.Entries, n, size)
	if !ok {
		return nil, fmt.Errorf("bundle %d is beyond %d entries", n, size)
	}
	data, err := m.readTile(ctx, t)
	if err != nil {
		return nil, err
	}
	return m.splitBundle(data, t)
}

// splitBundle returns the leaves of a bundle; data may be the full bundle in place of a partial
// one. A malformed bundle is an error and no anomaly, because the replay cannot continue.
func (m *monitor) splitBundle(data []byte, t tlog.Tile) ([][]byte, error) {
	leaves, err := ledger.SplitBundle(data, t.W)
	if err == nil {
		return leaves, nil
	}
	if full, fullErr := ledger.SplitBundle(data, ledger.TileWidth); fullErr == nil {
		return full[:t.W], nil
	}
	return nil, evidence.Errorf(evidence.Integrity, m.name, "",
		fmt.Errorf("SECURITY ERROR: %s: %w", ledger.TilePath(t), err))
}

// readTile reads a tile, or the full tile if the partial one is not served any more.
func (m *monitor) readTile(ctx context.Context, t tlog.Tile) ([]byte, error) {
	data, err := m.source.tile(ctx, ledger.TilePath(t))
	if trail.IsNotFound(err) && t.W < ledger.TileWidth {
		full := t
		full.W = ledger.TileWidth
		if wide, fullErr := m.source.tile(ctx, ledger.TilePath(full)); fullErr == nil {
			return wide, nil
		}
	}
	if trail.IsNotFound(err) && m.log != nil {
		// The signer of the tree must have the tile. No anomaly is kept, as the tile may come back.
		return nil, evidence.Errorf(evidence.Integrity, m.name, "",
			fmt.Errorf("SECURITY ERROR: %s is in the tree that was signed, and not served: %w", ledger.TilePath(t),
				err))
	}
	if err != nil {
		return nil, evidence.Errorf(evidence.ClassOf(err), m.name, "", fmt.Errorf("%s: %w", ledger.TilePath(t), err))
	}
	return data, nil
}

// replayBundles reads the next bundles, at most bundlesAtOnce, and every tile that they complete.
func (m *monitor) replayBundles(ctx context.Context, size int64) error {
	first := m.state.replay.Size() / ledger.TileWidth
	last := min(first+bundlesAtOnce, (size+ledger.TileWidth-1)/ledger.TileWidth)
	texts := make([][]byte, last-first)
	tiles := make([][]byte, last-first) // of their hashes, where they are full
	group, within := errgroup.WithContext(ctx)
	for i := range texts {
		group.Go(func() (err error) {
			t, _ := ledger.NewTile(ledger.Entries, first+int64(i), size)
			if texts[i], err = m.readTile(within, t); err == nil && t.W == ledger.TileWidth {
				t.L = 0
				tiles[i], err = m.readTile(within, t)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for i := range texts {
		n := first + int64(i)
		t, _ := ledger.NewTile(ledger.Entries, n, size)
		leaves, err := m.splitBundle(texts[i], t)
		if err != nil {
			return err
		}
		for _, text := range leaves[m.state.replay.Size()-n*ledger.TileWidth:] {
			m.replayEntry(text)
			for level := 0; len(m.state.Tiles[level]) == ledger.TileWidth; level++ {
				full := tlog.Tile{H: 8, L: level, N: m.state.replay.Size()>>(8*(level+1)) - 1, W: ledger.TileWidth}
				shown := tiles[i]
				if level > 0 {
					if shown, err = m.readTile(ctx, full); err != nil {
						return err
					}
				}
				m.completeTile(full, shown)
			}
		}
	}
	return nil
}

// replayEntry replays one entry.
func (m *monitor) replayEntry(text []byte) {
	index := m.state.replay.Size()
	leaf, fault := m.state.addEntry(text)
	if fault == nil {
		m.laterEntries.addLeaf(index, leaf)
		return
	}
	a := Anomaly{What: AnomalyUnreadable, Index: &index, Actual: fault.Error()}
	if fault.What == ledger.Duplicate {
		a = Anomaly{
			What: AnomalyDuplicate, Index: &index, Subject: leaf.Subject(),
			Expected: fmt.Sprintf("entry %d alone, document %s", fault.Earlier, m.state.document(fault.Earlier)),
			Actual:   fmt.Sprintf("entry %d too, document %s", index, leaf.Document),
		}
	}
	m.addAnomaly(a)
}

// completeTile compares a full tile with the one that is served, and adds its root to the level
// above.
func (m *monitor) completeTile(t tlog.Tile, shown []byte) {
	made := m.state.Tiles[t.L]
	m.compareTile(t, made, shown)
	var top ledger.Edge
	for _, h := range made {
		top.Add(h)
	}
	m.state.Tiles[t.L] = made[:0]
	m.state.Tiles[t.L+1] = append(m.state.Tiles[t.L+1], top.Root())
}

// comparePartialTiles compares the tiles at the right edge of a tree of that size.
func (m *monitor) comparePartialTiles(ctx context.Context, size int64) error {
	for level, made := range m.state.Tiles {
		if len(made) == 0 {
			continue
		}
		t := tlog.Tile{H: 8, L: level, N: size >> (8 * (level + 1)), W: len(made)}
		shown, err := m.readTile(ctx, t)
		if err != nil {
			return err
		}
		m.compareTile(t, made, shown)
	}
	return nil
}

// compareTile reports whether a tile as it is served is the one that is made.
func (m *monitor) compareTile(t tlog.Tile, made []tlog.Hash, shown []byte) bool {
	path := ledger.TilePath(t)
	if len(shown) != t.W*tlog.HashSize && len(shown) != ledger.TileWidth*tlog.HashSize {
		m.addAnomaly(Anomaly{What: AnomalyTile, Path: path, Expected: fmt.Sprintf("%d bytes", t.W*tlog.HashSize),
			Actual: fmt.Sprintf("%d bytes", len(shown))})
		return false
	}
	for i, h := range made {
		there := tlog.Hash(shown[i*tlog.HashSize : (i+1)*tlog.HashSize])
		if there == h {
			continue
		}
		a := Anomaly{
			What: AnomalyTile, Path: path, Expected: h.String(), Actual: there.String(),
			Detail: fmt.Sprintf("the hash that the entries make, and hash %d of the tile", i),
		}
		if t.L == 0 {
			index := t.N*ledger.TileWidth + int64(i)
			a.Index, a.Detail = &index, "the hash of the entry as it is served, and the one in the tile"
		}
		m.addAnomaly(a)
		return false
	}
	return true
}

// directorySource reads a copy of a log's files.
func directorySource(dir string) logSource {
	read := func(path string, limit int64) ([]byte, error) {
		data, err := host.ReadFile(filepath.Join(dir, filepath.FromSlash(path)), limit)
		if err == nil && data == nil {
			err = &registry.Problem{Status: 404, Title: "Not Found", Detail: "no file " + path}
		}
		return data, err
	}
	return logSource{
		checkpoint: func(context.Context) ([]byte, error) { return read("checkpoint", ledger.MaxCheckpoint) },
		tile:       func(_ context.Context, path string) ([]byte, error) { return read(path, ledger.MaxBundle) },
	}
}
