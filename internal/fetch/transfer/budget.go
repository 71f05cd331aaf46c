package transfer

import (
	"fmt"
	"sync/atomic"

	"github.com/hallmark-mcp/hallmark/evidence"
)

// Budget bounds the bytes that several transfers take between them. Nil has no bound.
type Budget struct {
	most  int64
	spent atomic.Int64
}

// NewBudget returns nil unless most is positive.
func NewBudget(most int64) *Budget {
	if most <= 0 {
		return nil
	}
	return &Budget{most: most}
}

// take spends n bytes, or none if fewer are left, and reports which.
func (b *Budget) take(n int64) bool {
	if b == nil {
		return true
	}
	if b.spent.Add(n) > b.most {
		b.spent.Add(-n)
		return false
	}
	return true
}

// GiveBack gives back n bytes that were spent.
func (b *Budget) GiveBack(n int64) {
	if b != nil {
		b.spent.Add(-n)
	}
}

// has reports whether n bytes are left.
func (b *Budget) has(n int64) bool { return b == nil || b.spent.Load() <= b.most-n }

// overspentFailure is the failure of a transfer that exceeds the limit of all that is fetched
// together.
func (b *Budget) overspentFailure() *Failure {
	return &Failure{Cause: evidence.TooLarge,
		Err: fmt.Errorf("with what was fetched before, more than the limit of %s bytes for all files together",
			evidence.Group(b.most))}
}

// crowdedFailure is the failure of a transfer for which there is no room on this machine now.
func (b *Budget) crowdedFailure() *Failure {
	return &Failure{Cause: evidence.Unreachable, Retry: true,
		Err: fmt.Errorf("other fetches take up the %s bytes that may be held at once", evidence.Group(b.most))}
}

// Spent returns the bytes that were spent and not given back.
func (b *Budget) Spent() int64 {
	if b == nil {
		return 0
	}
	return b.spent.Load()
}
