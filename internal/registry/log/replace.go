package log

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/ledger"
)

// Replace replaces the log called old by a new, empty log with that key. It is for a database that
// lost entries which were signed. The operator must name the log that ends, and the new one must
// have another name: under the same name it would be a second history of one log. It does nothing
// if the new log is there already.
func Replace(ctx context.Context, heads registry.Heads, key ledger.Key, old string) error {
	fault := func(hint, format string, args ...any) error {
		return evidence.Errorf(evidence.Validation, fmt.Sprintf("log %+q", key.Name()), hint,
			fmt.Errorf(format, args...))
	}
	if key.Name() == old {
		return fault("put its key away, leave what it signed last where it is, and begin the log that takes its place "+
			"with --log-origin and a new name", "a log is replaced by one with another key and another name")
	}
	note, tag, err := loadNewest(ctx, heads)
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
		return fault(fmt.Sprintf("name the log that ends: --replace-log %+q", last.Origin),
			"what was signed last is of the log %+q, not of %+q", last.Origin, old)
	}
	first, err := emptyLog(key)
	if err != nil {
		return err
	}
	if _, err = heads.Swap(ctx, tag, first); errors.Is(err, registry.ErrMoved) {
		return fault("stop all replicas, and start one first", "another replica signed meanwhile")
	}
	if err != nil {
		return fmt.Errorf("replace the log's head: %w", err)
	}
	return nil
}
