package monitor

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/ledger"
)

// DefaultReread is the number of runs in which a monitor reads everything once more.
const DefaultReread = 30

// rereadSample reads one part of the first size entries, and of the tiles over them, once more and
// compares them with the rebuilt tree, so that damage to older entries is found too. Each round
// reads the next part. A part that is not served ends it; the next round asks for it again.
func (m *monitor) rereadSample(ctx context.Context, size int64) error {
	bundles := (size + ledger.TileWidth - 1) / ledger.TileWidth
	if m.options.Reread <= 0 || bundles == 0 {
		return nil
	}
	runs := int64(m.options.Reread)
	r := &ledger.Reader{At: m.state.head.Checkpoint,
		Fetch: func(path string) ([]byte, error) { return m.source.tile(ctx, path) }}
	for range (bundles + runs - 1) / runs {
		if m.state.nextReread >= bundles {
			m.state.nextReread = 0
		}
		n := m.state.nextReread
		leaves, err := r.Bundle(n)
		switch {
		case err == nil:
		case trail.IsNotFound(err):
			class := evidence.Integrity // the signer of the tree has it
			if m.log == nil {
				class = evidence.Operation // a copy may not be whole
			}
			return evidence.Errorf(class, m.name,
				"it was served when it was read before; it is asked for again with the next run",
				fmt.Errorf("a part of entries %d to %d, or of the tree over them, is not served: %w",
					n*ledger.TileWidth, min((n+1)*ledger.TileWidth, size)-1, err))
		case errors.Is(err, ledger.ErrFork), errors.Is(err, ledger.ErrMalformed):
			if err := m.addChanged(ctx, n, err); err != nil {
				return err
			}
		default:
			return evidence.Errorf(evidence.ClassOf(err), m.name, "", err)
		}
		for i, text := range leaves {
			if leaf, err := ledger.ParseLeaf(text); err == nil {
				m.laterEntries.addLeaf(n*ledger.TileWidth+int64(i), leaf)
			}
		}
		m.state.nextReread = n + 1
		m.reread += int64(len(leaves))
	}
	return nil
}

// addChanged adds the anomaly of bundle n, which is not as it was read before: the first entry that
// differs, or else the tile.
func (m *monitor) addChanged(ctx context.Context, n int64, cause error) error {
	t, ok := ledger.NewTile(ledger.Entries, n, m.state.head.Size)
	if !ok {
		return fmt.Errorf("bundle %d is beyond %d entries", n, m.state.head.Size)
	}
	data, err := m.readTile(ctx, t)
	if err != nil {
		return err
	}
	leaves, err := m.splitBundle(data, t)
	if err != nil {
		m.addAnomaly(Anomaly{What: AnomalyEntry, Path: ledger.TilePath(t),
			Expected: "the entries that were read before", Actual: err.Error()})
		return nil
	}
	for i, text := range leaves {
		index := n*ledger.TileWidth + int64(i)
		want := m.state.document(index)
		leaf, err := ledger.ParseLeaf(text)
		if err == nil && evidence.Same(recordDigest(leaf), want) || err != nil && want.IsZero() {
			continue
		}
		actual := "document " + leaf.Document.String()
		if err != nil {
			actual = err.Error()
		}
		m.addAnomaly(Anomaly{What: AnomalyEntry, Index: &index, Subject: leaf.Subject(), Expected: "document " +
			want.String(), Actual: actual,
			Detail: "the entry as it was read before, and as it is served"})
		return nil
	}
	// The kept digest of each entry matches, so that another member of one differs, or a tile.
	t.L = 0
	shown, err := m.readTile(ctx, t)
	if err != nil {
		return err
	}
	made := make([]tlog.Hash, len(leaves))
	for i, text := range leaves {
		made[i] = tlog.RecordHash(text)
	}
	if m.compareTile(t, made, shown) { // or a tile above
		m.addAnomaly(Anomaly{What: AnomalyTile, Path: ledger.TilePath(t),
			Expected: "the tree that was read before, of root " + m.state.head.Root.String(), Actual: cause.Error()})
	}
	return nil
}
