package log

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/ledger"
)

// BesideHeads are Heads that decide what was signed last, with a copy beside the key. The copy may
// be older than the Heads, because other replicas sign too. It travels with the key, so that the
// key refuses a bucket and a database that do not have what it signed.
type BesideHeads struct {
	registry.Heads
	Beside registry.Heads
}

// String names both places.
func (h BesideHeads) String() string { return placeOf(h.Beside) + " and " + placeOf(h.Heads) }

// HeadsOf are the Heads beside the file of a key.
func HeadsOf(keyFile string) FileHeads { return FileHeads{keyFile + ".head"} }

// loadNewest returns the checkpoint that heads hold, and its tag, or if they hold none their copy,
// which has no tag.
func loadNewest(ctx context.Context, heads registry.Heads) ([]byte, string, error) {
	note, tag, err := heads.Load(ctx)
	if err != nil || note != nil {
		return note, tag, err
	}
	if both, ok := heads.(BesideHeads); ok {
		note, _, err = both.Beside.Load(ctx)
	}
	return note, "", err
}

// HeldByAnother returns an error if heads hold a checkpoint, for a caller that has no key: another key
// signed it.
func HeldByAnother(ctx context.Context, heads registry.Heads) error {
	note, _, err := heads.Load(ctx)
	if err == nil && note != nil {
		err = otherKeyError(note)
	}
	return err
}

// otherKeyError returns the error for a checkpoint that the key at hand did not sign; it names the log.
func otherKeyError(note []byte) error {
	origin, _, _ := bytes.Cut(note, []byte("\n"))
	return fmt.Errorf("%w, that of %+.200q", ErrKey, origin)
}

// placesOf returns each place in which heads keep a checkpoint.
func placesOf(heads registry.Heads) []registry.Heads {
	if both, ok := heads.(BesideHeads); ok {
		return []registry.Heads{both.Heads, both.Beside}
	}
	return []registry.Heads{heads}
}

// placeOf names where heads are, for people.
func placeOf(h registry.Heads) string {
	if s, ok := h.(fmt.Stringer); ok {
		return s.String()
	}
	return "the log's head"
}

// keepCopy keeps a copy of a signed checkpoint beside the key, unless the copy there is newer. If it
// cannot be written, as when the key is on a read-only mount, one warning is logged and signing
// goes on.
func (l *Log) keepCopy(ctx context.Context, signed ledger.Signed) {
	both, ok := l.heads.(BesideHeads)
	if !ok {
		return
	}
	note, tag, err := both.Beside.Load(ctx)
	if err == nil {
		if kept, err := l.trust.Open(note); err == nil && kept.Size >= signed.Size {
			return
		}
		_, err = both.Beside.Swap(ctx, tag, signed.Note)
	}
	if err == nil || errors.Is(err, registry.ErrMoved) {
		l.copyFails = false
		return
	}
	if !l.copyFails {
		l.logger.Warn("what was signed last is in the bucket only, and not beside the key", "error", err)
	}
	l.copyFails = true
}
