package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/durable"
)

// Lock takes the lock at path. If it has to wait it logs so, with the process that holds the
// lock. It waits until ctx ends, but at most limit if that is not 0: a lock inside a checkout
// could be held forever by anybody who writes to the checkout.
func (h *Host) Lock(ctx context.Context, path, what string, limit time.Duration) (unlock func(), err error) {
	unlock, err = durable.TryLock(path, what)
	if errors.Is(err, durable.ErrLocked) {
		var who []any
		if process := durable.LockHolder(err); process > 0 {
			who = []any{"process", process}
		}
		h.Logger.Warn("waiting for "+what+" by another process", who...)
		if limit > 0 {
			late := fmt.Errorf("it was held for %v", limit)
			bounded, cancel := context.WithTimeoutCause(ctx, limit, late)
			defer cancel()
			if unlock, err = durable.Lock(bounded, path, what); errors.Is(err, late) {
				err = evidence.Errorf(evidence.Operation, path,
					"see what that process does, end it if it hangs, and run the command again", err)
			}
		} else {
			unlock, err = durable.Lock(ctx, path, what)
		}
	}
	if errors.Is(err, durable.ErrNoLock) {
		return nil, evidence.Errorf(evidence.Refused, path,
			"find out who put it there, and remove it: the next command makes a lock of its own", durable.ErrNoLock)
	}
	return unlock, err
}
