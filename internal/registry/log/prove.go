package log

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/ledger"
)

// Covering waits for a checkpoint of a tree with the entry. It does not wait while the disk is full.
func (l *Log) Covering(ctx context.Context, index int64) (ledger.Signed, error) {
	ctx, cancel := context.WithTimeout(ctx, logWait)
	defer cancel()
	for first := true; ; first = false {
		l.mu.Lock()
		head, newer, broken, passed := l.head, l.newer, l.broken, l.passed
		l.mu.Unlock()
		switch {
		case broken != nil:
			return ledger.Signed{}, broken
		case index < head.Size:
			return head, nil
		case !first && registry.NoRoom(passed):
			return ledger.Signed{}, unsignedError(index, passed)
		}
		if first {
			select {
			case l.kick <- struct{}{}:
			default:
			}
		}
		select {
		case <-newer:
		case <-ctx.Done():
			return ledger.Signed{}, unsignedError(index, passed)
		}
	}
}

// CatchUp waits for a checkpoint of a tree with every entry that is committed now.
func (l *Log) CatchUp(ctx context.Context) error {
	state, err := l.entries.LogState(ctx)
	if err != nil {
		return fmt.Errorf("read the state of the log: %w", err)
	}
	if state.Size == 0 {
		return nil
	}
	_, err = l.Covering(ctx, state.Size-1)
	return err
}

// unsignedError returns the error for an entry that no checkpoint covers, because of why.
func unsignedError(index int64, why error) error {
	return errors.Join(fmt.Errorf("%w: no checkpoint of entry %d yet", registry.ErrUnavailable, index), why)
}

// Prove proves that an entry is in the log, as soon as a checkpoint covers it. leaf is its
// encoding; if it is nil Prove reads it from the database.
func (l *Log) Prove(ctx context.Context, index int64, leaf []byte) ([]byte, error) {
	head, err := l.Covering(ctx, index)
	if err != nil {
		return nil, err
	}
	return l.proveIn(ctx, head, index, leaf)
}

// ProveServed is Prove under the checkpoint that is served, if that covers the entry.
func (l *Log) ProveServed(ctx context.Context, index int64) ([]byte, error) {
	l.mu.Lock()
	head := l.served
	l.mu.Unlock()
	if index < head.Size {
		return l.proveIn(ctx, head, index, nil)
	}
	return l.Prove(ctx, index, nil)
}

// proveIn proves that an entry is in the tree of a checkpoint, and verifies the proof before it
// returns it.
func (l *Log) proveIn(ctx context.Context, head ledger.Signed, index int64, leaf []byte) ([]byte, error) {
	if leaf == nil {
		leaves, err := l.entries.LogEntries(ctx, index, 1)
		if err != nil {
			return nil, err
		}
		if len(leaves) != 1 {
			return nil, fmt.Errorf("log: entry %d is gone", index)
		}
		leaf = leaves[0]
	}
	hashes, err := tlog.ProveRecord(head.Size, index, l.hashes(ctx))
	if err != nil {
		return nil, err
	}
	if err := ledger.CheckInclusion(head.Checkpoint, index, leaf, hashes); err != nil {
		return nil, err
	}
	return ledger.Proof{Leaf: leaf, Index: index, Hashes: hashes, Checkpoint: head.Note}.Marshal(), nil
}
