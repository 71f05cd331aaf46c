package transfer

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/hallmark-mcp/hallmark/evidence"
)

// Limits bound the attempts of a transfer.
type Limits struct {
	Time       time.Duration // all requests, retries and pauses; for messages only: the context ends them
	Stall      time.Duration // longest silence before an attempt is given up
	Retries    int           // attempts after the first
	Backoff    time.Duration // pause before the first retry; doubles each time
	BackoffMax time.Duration // longest pause, also if Retry-After asks for more
}

// pause returns the time before the retry that follows attempt: what the server asked for,
// else between half and all of a backoff that doubles; never more than BackoffMax.
func (l Limits) pause(attempt int, asked time.Duration) time.Duration {
	if asked > 0 {
		return min(asked, l.BackoffMax)
	}
	d := l.Backoff
	for range attempt {
		d = min(2*d, l.BackoffMax)
	}
	d = min(d, l.BackoffMax)
	return d/2 + rand.N(d/2+1)
}

// wait pauses, and reports whether the context lasted as long.
func wait(ctx context.Context, pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// OverdueError is the error of a transfer whose context has ended; done says how much of it was
// done.
func (l Limits) OverdueError(ctx context.Context, done string) error {
	if context.Cause(ctx) != ErrTimeUp {
		return ctx.Err()
	}
	return &Failure{Cause: evidence.Unreachable,
		Err: fmt.Errorf("not complete after %s (%s)", l.Time, done)}
}

// stallFailure is the failure of an attempt in which no data came for Stall.
func (l Limits) stallFailure(done string) *Failure {
	return &Failure{Cause: evidence.Unreachable, Retry: true,
		Err: fmt.Errorf("%w (%s, after %s)", errStalled, l.Stall, done)}
}

// Nothing is what was done of an exchange without a body, for [Limits.OverdueError].
const Nothing = "0 bytes"

// Repeat calls try until it succeeds or fails for good, each time for at most l.Stall. It
// is for exchanges without a body worth resuming. Errors are failures or those of ctx.
func (l Limits) Repeat(ctx context.Context, try func(context.Context) *Failure) error {
	for attempt := 0; ; attempt++ {
		part, cancel := context.WithTimeoutCause(ctx, l.Stall, errStalled)
		failed := try(part)
		late := context.Cause(part) == errStalled
		cancel()
		if failed == nil {
			return nil
		}
		if ctx.Err() != nil {
			return l.OverdueError(ctx, Nothing)
		}
		if late {
			failed = l.stallFailure(Nothing)
		}
		if !failed.Retry || attempt >= l.Retries {
			return failed
		}
		if !wait(ctx, l.pause(attempt, failed.After)) {
			return l.OverdueError(ctx, Nothing)
		}
	}
}
