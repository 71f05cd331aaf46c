package trail

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/ledger"
)

// AcceptCheckpoint verifies a checkpoint of the log, requires that it and the newest one that this
// machine saw belong to one history, and stores it if it is newer. If the two contradict each other, or the
// signature does not verify, it returns a SECURITY ERROR and stores nothing.
func (l *Log) AcceptCheckpoint(ctx context.Context, signed []byte) (ledger.Signed, error) {
	s, err := l.Trust.Open(signed)
	if err != nil {
		kind := evidence.Integrity
		if errors.Is(err, ledger.ErrSignature) {
			kind = evidence.Signature
		}
		return s, &evidence.Error{
			Subject: l.Name, Kind: kind, Err: err, Detail: "  expected the key " + l.Key + "\n",
			Hint: "this is not the log that is relied on; do not use the registry until its operator has explained it",
		}
	}
	for {
		logs, err := KnownLogs(l.Host)
		if err != nil {
			return s, err
		}
		kept, ok := logs.Newest(l.Key)
		if !ok {
			kept, ok = l.Head, l.Head.Note != nil // what was seen by this command
		}
		if ok {
			if err := l.checkHistory(ctx, kept, s); err != nil {
				return s, err
			}
		}
		if !l.keep {
			return s, nil
		}
		kept, _ = logs.Newest(l.Key)
		done, err := l.keepCheckpoint(ctx, kept, s)
		if done || err != nil {
			return s, err
		}
	}
}

// checkHistory checks that the smaller tree of the two is the beginning of the larger.
func (l *Log) checkHistory(ctx context.Context, kept, shown ledger.Signed) error {
	older, newer := kept.Checkpoint, shown.Checkpoint
	if older.Size > newer.Size {
		older, newer = newer, older // an older checkpoint is shown, which proves to be of the same log or is refused
	}
	r := ledger.Reader{At: newer, Fetch: l.TileFetcher(ctx)}
	err := r.CheckExtends(older)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ledger.ErrFork):
	case IsNotFound(err) && kept.Size > shown.Size:
		err = fmt.Errorf("%w: it went back from %d entries to %d", ledger.ErrFork, kept.Size, shown.Size)
	default:
		return evidence.Errorf(evidence.ClassOf(err), l.Name, "", err)
	}
	return forkError(l.Name, shownNote{"this machine was shown", kept.Note},
		shownNote{"the registry shows", shown.Note}, err)
}

// shownNote is a checkpoint of a log, and who showed it.
type shownNote struct {
	title string
	note  []byte
}

// forkError returns the error that the log of a registry contradicts itself. It holds both
// checkpoints in full, because together they are a proof that others can verify.
func forkError(name string, first, second shownNote, err error) error {
	var b strings.Builder
	for _, c := range []shownNote{first, second} {
		fmt.Fprintf(&b, "  %s:\n", c.title)
		for line := range strings.Lines(string(c.note)) {
			b.WriteString("    " + strings.TrimSuffix(line, "\n") + "\n")
		}
	}
	b.WriteString(
		"  A log only grows. Either the registry was set back to an older state, or somebody who has its key\n" +
			"  shows different histories to different people. Nothing was changed on this machine.\n")
	return &evidence.Error{
		Subject: name, Kind: evidence.Integrity, Err: fmt.Errorf("SECURITY ERROR: %w", err), Detail: b.String(),
		Hint: "keep this text; both checkpoints are signed, and prove it. Install nothing from the registry, tell " +
			"its operator and others who use it, and see docs/ledger.md, Incident",
	}
}
