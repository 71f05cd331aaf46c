package log

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/ledger"
)

// begin reads every kept checkpoint, and checks that the database has their trees. It continues
// from the newest; all must be of one log.
func (l *Log) begin(ctx context.Context) error {
	for {
		state, err := l.entries.LogState(ctx)
		if err != nil {
			return err
		}
		kept, tag, decided, err := l.readKept(ctx, state)
		if err != nil {
			return err
		}
		newest := kept[len(kept)-1]
		l.edge, l.last = ledger.Edge{}, tlog.Hash{}
		l.publish(newest) // before the check: it was signed, even if the database lost entries
		for _, signed := range kept {
			if err := l.reach(ctx, signed); errors.Is(err, ErrBroken) && !state.Signed {
				return fmt.Errorf("%w: %w", ErrElsewhere, err)
			} else if err != nil {
				return err
			}
		}
		if decided < newest.Size {
			if decided >= 0 {
				l.logger.Warn(
					"the log's head went back, and is brought forward to what the key is known to have signed", "from",
					decided, "to", newest.Size)
			}
			tag, err = l.heads.Swap(ctx, tag, newest.Note)
			if errors.Is(err, registry.ErrMoved) {
				continue
			}
			if err != nil {
				return err
			}
		}
		l.tag = tag
		if !state.Signed {
			state.Signed = true
			if err := l.entries.SetLogState(ctx, state); err != nil {
				return err
			}
		}
		l.keepCopy(ctx, newest)
		return nil
	}
}

// readKept returns the kept checkpoints of this key, at least one, from the smallest tree to the
// largest. tag and decided are the tag and the size of the checkpoint that heads hold; decided is
// -1 if they hold none.
func (l *Log) readKept(
	ctx context.Context, state registry.LogState,
) (kept []ledger.Signed, tag string, decided int64, err error) {
	note, tag, err := l.heads.Load(ctx)
	if err != nil {
		return nil, "", 0, err
	}
	decided = -1
	if note != nil {
		if by := otherSigner(note, l.key); by != "" {
			return nil, "", 0, fmt.Errorf("%w, that of %+.200q", ErrKey, by)
		}
		signed, err := l.openKept(note, l.heads)
		if err != nil {
			return nil, "", 0, err
		}
		kept, decided = append(kept, signed), signed.Size
	}
	if both, ok := l.heads.(BesideHeads); ok {
		copied, err := l.readCopy(ctx, both, note == nil, state)
		if err != nil {
			return nil, "", 0, err
		}
		kept = append(kept, copied...)
	}
	if len(kept) == 0 && state.Signed {
		return nil, "", 0,
			fmt.Errorf("%w: %w: it was signed before, but what was signed last is missing: there is nothing in %s",
				ErrHead, ErrBroken, placeOf(l.heads))
	}
	if len(kept) == 0 {
		return nil, "", 0, fmt.Errorf("%w: there is nothing in %s", ErrHead, placeOf(l.heads))
	}
	if state.Cosigned != nil { // one of a log that was replaced does not open, and is skipped
		if signed, err := l.trust.Open(state.Cosigned); err == nil {
			kept = append(kept, signed)
		}
	}
	slices.SortStableFunc(kept, func(a, b ledger.Signed) int { return cmp.Compare(a.Size, b.Size) })
	return kept, tag, decided, nil
}

// openKept reads a checkpoint of this log that is kept somewhere.
func (l *Log) openKept(note []byte, where registry.Heads) (ledger.Signed, error) {
	signed, err := l.trust.Open(note)
	if err != nil {
		return ledger.Signed{}, fmt.Errorf(
			"%w: %w: what is kept as signed last is no checkpoint of this log: %s: %w; it has to be one byte for "+
				"byte, as it was signed: an editor may have added a line",
			ErrHead, ErrBroken, placeOf(where), err)
	}
	return signed, nil
}

// readCopy returns the checkpoint that is kept beside the heads, none if it is of another log. If it is alone, because
// heads hold none, it must be of this log and cover the whole database.
func (l *Log) readCopy(ctx context.Context, both BesideHeads, alone bool,
	state registry.LogState) ([]ledger.Signed, error) {
	copied, _, err := both.Beside.Load(ctx)
	if err != nil || copied == nil {
		return nil, err
	}
	if by := otherSigner(copied, l.key); by != "" {
		if alone {
			return nil, fmt.Errorf("%w, that of %+.200q", ErrKey, by)
		}
		return nil, nil // another replica replaced the log of the copy
	}
	signed, err := l.openKept(copied, both.Beside)
	if err != nil {
		return nil, err
	}
	// More may have been signed than the copy holds, and only the missing checkpoint of
	// heads would show it. So the copy alone suffices only if the database has nothing
	// after it.
	if size := signed.Size; alone && size != state.Size && (size > 0 || state.Signed) {
		return nil, fmt.Errorf("%w: there is nothing in %s, and of the %d entries of the database %s has signed %d: "+
			"start once with the place that had the head, or put the newest checkpoint there",
			ErrHead, placeOf(both.Heads), state.Size, placeOf(both.Beside), size)
	}
	return []ledger.Signed{signed}, nil
}

// otherSigner returns the name of the signer of a checkpoint if the key did not sign it, as the note
// claims it. It is "" if the key signed it, or if the note cannot be read.
func otherSigner(signed []byte, key ledger.Key) string {
	var unverified *note.UnverifiedNoteError
	own, err := note.NewVerifier(key.VerifierKey)
	if err != nil {
		return ""
	}
	if _, err := note.Open(signed, nil); !errors.As(err, &unverified) {
		return ""
	}
	sigs := unverified.Note.UnverifiedSigs
	if len(sigs) == 0 ||
		slices.ContainsFunc(sigs, func(s note.Signature) bool {
			return s.Name == own.Name() && s.Hash == own.KeyHash()
		}) {
		return ""
	}
	return sigs[0].Name
}

// adopt makes the checkpoint of Heads the newest, if the database has its tree.
func (l *Log) adopt(ctx context.Context, note []byte, tag string) error {
	signed, err := l.trust.Open(note)
	if err != nil {
		return fmt.Errorf("%w: what is kept as signed last is no checkpoint of this log: %w", ErrBroken, err)
	}
	if signed.Size < l.edge.Size {
		return fmt.Errorf("%w: a checkpoint of %d entries was put in the place of one of %d", ErrBroken, signed.Size,
			l.edge.Size)
	}
	if err := l.reach(ctx, signed); err != nil {
		return err
	}
	l.tag = tag
	l.publish(signed)
	return nil
}

// reach extends the edge to the tree of a checkpoint that is not smaller, if the database has that
// tree.
func (l *Log) reach(ctx context.Context, signed ledger.Signed) error {
	var (
		edge ledger.Edge
		last tlog.Hash
		err  error
	)
	if signed.Size-l.edge.Size > 16*extendAtOnce {
		edge, last, err = l.edgeAt(ctx, signed.Size)
	} else {
		edge, last, err = l.grow(ctx, signed.Size)
	}
	if err != nil {
		return err
	}
	if edge.Size < signed.Size {
		return fmt.Errorf("%w: %d entries were signed, and it has %d", ErrBroken, signed.Size, edge.Size)
	}
	if root := edge.Root(); root != signed.Root {
		return fmt.Errorf("%w: the root of its first %d entries is %s, %s was signed", ErrBroken, signed.Size, root,
			signed.Root)
	}
	l.edge, l.last = edge, last
	return nil
}

// edgeAt is the right edge of the tree of the first size entries, and the last of their
// hashes.
func (l *Log) edgeAt(ctx context.Context, size int64) (edge ledger.Edge, last tlog.Hash, err error) {
	edge.Size = size
	for level := 7; level >= 0; level-- {
		n := size >> (8 * level)
		width := int(n % ledger.TileWidth)
		if width == 0 {
			continue
		}
		hashes, err := l.entries.LogHashes(ctx, level, n-int64(width), width)
		if err != nil {
			return edge, last, err
		}
		if len(hashes) != width {
			return edge, last, fmt.Errorf("%w: %d entries were signed, and it has fewer", ErrBroken, size)
		}
		var part ledger.Edge
		for _, h := range hashes {
			part.Add(h)
		}
		edge.Hashes = append(edge.Hashes, part.Hashes...)
	}
	newest, err := l.entries.LogHashes(ctx, 0, size-1, 1)
	if err != nil {
		return edge, last, err
	}
	if len(newest) != 1 {
		return edge, last, fmt.Errorf("%w: entry %d is gone", ErrBroken, size-1)
	}
	return edge, newest[0], nil
}
