package log

import (
	"context"
	"errors"
	"fmt"

	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/ledger"
)

// ErrHead says that the checkpoint which the key signed last is missing or unreadable. The key
// must not sign without it: a new checkpoint could contradict an earlier one.
var ErrHead = errors.New("nothing tells what the key signed last")

// ErrElsewhere says that the log of the key belongs to another database: no log was ever signed
// over this one, and it does not have the entries that the key signed.
var ErrElsewhere = errors.New("the log that the key signed is not in this database")

// ErrBegun says that a log is not the first one of its key.
var ErrBegun = errors.New("this is not the first log of the key")

// Begin keeps, for a key that never signed, that its log is empty. It is an error where
// the key has signed, where another key has, and where the database has been signed before.
// A second time it does nothing as long as the log is empty.
func Begin(ctx context.Context, entries registry.Entries, heads registry.Heads, key ledger.Key) error {
	trust, err := ledger.NewTrust(key.VerifierKey, nil, 0)
	if err != nil {
		return err
	}
	begun := false
	for _, place := range placesOf(heads) {
		note, _, err := place.Load(ctx)
		if err != nil {
			return fmt.Errorf("read what the key signed last: %w", err)
		}
		if note == nil {
			continue
		}
		if by := otherSigner(note, key); by != "" {
			return fmt.Errorf("%w, that of %+.200q", ErrKey, by)
		}
		last, err := trust.Open(note)
		if err != nil {
			return fmt.Errorf("%w: %s is no checkpoint of this log: %w", ErrHead, placeOf(place), err)
		}
		if last.Size > 0 {
			return fmt.Errorf("%w: it has signed %d entries of %+q", ErrBegun, last.Size, last.Origin)
		}
		begun = true
	}
	if begun {
		return nil
	}
	state, err := entries.LogState(ctx)
	if err != nil {
		return fmt.Errorf("read the state of the log: %w", err)
	}
	if state.Signed {
		return fmt.Errorf("%w: %w: the log of this database was signed before", ErrHead, ErrBegun)
	}
	first, err := emptyLog(key)
	if err != nil {
		return err
	}
	if _, err = heads.Swap(ctx, "", first); errors.Is(err, registry.ErrMoved) {
		return nil // a replica began too, or another key signed: Open finds out which
	}
	if err != nil {
		return fmt.Errorf("keep the head of the empty log: %w", err)
	}
	return nil
}

// emptyLog is the checkpoint of a log without entries.
func emptyLog(key ledger.Key) ([]byte, error) {
	var none ledger.Edge
	return ledger.Checkpoint{Origin: key.Name(), Root: none.Root()}.Sign(key)
}
