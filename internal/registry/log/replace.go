package log

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/ledger"
)

// Replace puts a new log with that key, empty yet, in the place of the log old, of
// which the database does not have any more what was signed last. The operator has to name
// the log that ends, and the new one must have another name: under the old one it would be
// the second history of one log. Where the new log is already there nothing happens.
func Replace(ctx context.Context, heads registry.Heads, key ledger.Key, old string) error {
	fault := func(format string, args ...any) error {
		return fmt.Errorf("log %+q: %s", key.Name(), fmt.Sprintf(format, args...))
	}
	if key.Name() == old {
		return fault("a log is replaced by one with another key and another name")
	}
	note, tag, err := newestHead(ctx, heads)
	if err != nil {
		return err
	}
	text, _, _ := bytes.Cut(note, []byte("\n\n"))
	last, err := ledger.ParseCheckpoint(append(bytes.Clone(text), '\n'))
	switch {
	case err != nil:
		return fmt.Errorf(
			"%w: what %+q signed last is missing or unreadable; put the newest checkpoint that anybody has in its "+
				"place", ErrHead, old)
	case last.Origin == key.Name():
		return nil
	case last.Origin != old:
		return fault("what was signed last is of the log %+q, not of %+q", last.Origin, old)
	}
	first, err := emptyLog(key)
	if err != nil {
		return err
	}
	if _, err = heads.Swap(ctx, tag, first); errors.Is(err, registry.ErrMoved) {
		return fault("another replica signed meanwhile: stop all, and start one first")
	}
	return err
}
