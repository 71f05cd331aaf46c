package log

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/ledger"
)

// run signs when kick receives, and after each logPoll.
func (l *Log) run(ctx context.Context) {
	defer close(l.done)
	timer := time.NewTimer(logPoll)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.kick:
		case <-timer.C:
		}
		if l.Broken() != nil {
			return
		}
		attempt, cancel := context.WithTimeout(ctx, logTry)
		err := l.advance(attempt)
		cancel()
		next := logPoll
		switch {
		case errors.Is(err, ErrBroken):
			l.fail(err)
			return
		case err != nil && ctx.Err() == nil:
			l.logger.Error("log not signed", "error", err)
			next = logRetry
		}
		l.mu.Lock()
		l.passed = err
		if registry.NoRoom(err) {
			l.wake()
		}
		l.mu.Unlock()
		timer.Reset(next)
	}
}

// advance signs what the database has beyond the last checkpoint.
func (l *Log) advance(ctx context.Context) error {
	for {
		next, last, err := l.grow(ctx, ledger.MaxSize)
		if err != nil {
			return err
		}
		if next.Size == l.edge.Size {
			if more, err := l.hasMore(ctx); !more || err != nil {
				return err
			}
			continue
		}
		// Entries that the database could still lose must not be signed.
		if err := l.entries.LogSettled(ctx); err != nil {
			return err
		}
		note, err := l.sign(next)
		if err != nil {
			return err
		}
		tag, err := l.heads.Swap(ctx, l.tag, note)
		if errors.Is(err, registry.ErrMoved) {
			// A replica signed, or an earlier Swap of ours succeeded in spite of its error.
			note, tag, err := l.heads.Load(ctx)
			if err != nil {
				return err
			}
			if note == nil {
				return fmt.Errorf("%w: what was signed last was removed", ErrBroken)
			}
			if err := l.adopt(ctx, note, tag); err != nil {
				return err
			}
			l.keepCopy(ctx, l.Head())
			continue
		}
		if err != nil {
			return err
		}
		signed, err := l.trust.Open(note)
		if err != nil {
			return err
		}
		l.edge, l.last, l.tag = next, last, tag
		l.Signed.Add(1)
		l.publish(signed)
		l.keepCopy(ctx, signed) // after publish, so that nobody waits for it
	}
}

// hasMore reports whether the database has entries beyond the edge. If it counts more than can be
// read, entries after the edge were lost, and the error wraps ErrBroken.
func (l *Log) hasMore(ctx context.Context) (bool, error) {
	state, err := l.entries.LogState(ctx)
	if err != nil || state.Size <= l.edge.Size {
		return false, err
	}
	next, _, err := l.grow(ctx, ledger.MaxSize)
	if err == nil && next.Size == l.edge.Size {
		return false,
			fmt.Errorf("%w: it says that it has %d entries, and entry %d is gone", ErrBroken, state.Size, next.Size)
	}
	return err == nil, err
}

// grow returns the edge extended by the entries that the database has beyond it, up to size, and
// the last hash. It reads the last signed entry again: if that is missing or differs, the database
// went back, and the error wraps ErrBroken.
func (l *Log) grow(ctx context.Context, size int64) (edge ledger.Edge, last tlog.Hash, err error) {
	edge, last = l.edge.Clone(), l.last
	for {
		first := max(edge.Size-1, 0)
		n := int(min(extendAtOnce, size-first))
		hashes, err := l.entries.LogHashes(ctx, 0, first, n)
		if err != nil {
			return edge, last, err
		}
		more := len(hashes) == n
		if edge.Size > 0 {
			if len(hashes) == 0 {
				return edge, last, fmt.Errorf("%w: %d entries were signed, and it has fewer", ErrBroken, edge.Size)
			}
			if hashes[0] != last {
				return edge, last, fmt.Errorf("%w: entry %d is another one than was signed", ErrBroken, first)
			}
			hashes = hashes[1:]
		}
		l.tiles.add(0, edge.Size, hashes)
		for _, h := range hashes {
			edge.Add(h)
			last = h
		}
		if !more || edge.Size >= size {
			return edge, last, nil
		}
	}
}

// sign signs the checkpoint of the tree with that edge.
func (l *Log) sign(edge ledger.Edge) ([]byte, error) {
	return ledger.Checkpoint{Origin: l.key.Name(), Size: edge.Size, Root: edge.Root()}.Sign(l.key)
}

// publish makes a checkpoint the newest.
func (l *Log) publish(signed ledger.Signed) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.head, l.passed = signed, nil
	l.wake()
}

// wake lets everybody who waits for a checkpoint look again. The caller holds l.mu.
func (l *Log) wake() {
	close(l.newer)
	l.newer = make(chan struct{})
}

// fail ends signing for good.
func (l *Log) fail(err error) {
	l.logger.Error("log broken", "error", err, "hint",
		"nothing is published: "+
			"restore a newer state, or begin another log with --replace-log: docs/operating.md, The log")
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken == nil {
		l.broken = err
		l.wake()
	}
}
