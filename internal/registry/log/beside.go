package log

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/ledger"
)

// BesideHeads are Heads that decide what was signed last, of which a copy goes where the key
// goes. The copy may be older, by what this process did not see. It makes the key refuse a
// bucket and a database that do not have what it signed.
type BesideHeads struct {
	registry.Heads
	Beside registry.Heads
}

// String names both places.
func (h BesideHeads) String() string { return placeOf(h.Beside) + " and " + placeOf(h.Heads) }

// HeadsOf are the Heads beside the file of a key.
func HeadsOf(keyFile string) FileHeads { return FileHeads{keyFile + ".head"} }

// newestHead is the checkpoint that heads decide on, and its tag, or else their copy, which
// has no tag.
func newestHead(ctx context.Context, heads registry.Heads) ([]byte, string, error) {
	note, tag, err := heads.Load(ctx)
	if err != nil || note != nil {
		return note, tag, err
	}
	if both, ok := heads.(BesideHeads); ok {
		note, _, err = both.Beside.Load(ctx)
	}
	return note, "", err
}

// HeldByAnother is an error if heads decide on the checkpoint of a log whose key is not here.
func HeldByAnother(ctx context.Context, heads registry.Heads) error {
	note, _, err := heads.Load(ctx)
	if err == nil && note != nil {
		err = errOther(note)
	}
	return err
}

// errOther says by whom a checkpoint is that the key at hand did not sign.
func errOther(note []byte) error {
	origin, _, _ := bytes.Cut(note, []byte("\n"))
	return fmt.Errorf("%w, that of %+.200q", ErrKey, origin)
}

// placesOf are the places that heads have.
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

// remember keeps a copy of a checkpoint that was signed, unless the copy is newer. That it
// cannot be written, as beside a key that is mounted, is said once and stops nothing.
func (l *Log) remember(ctx context.Context, signed ledger.Signed) {
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
		l.forgets = false
		return
	}
	if !l.forgets {
		l.logger.Warn("what was signed last is in the bucket only, and not beside the key", "error", err)
	}
	l.forgets = true
}
