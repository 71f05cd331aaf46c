package fetch

import (
	"fmt"
	"sync/atomic"

	"github.com/hallmark-mcp/hallmark/evidence"
)

// budget bounds the bytes that several transfers take between them. Nil has no bound.
type budget struct {
	most  int64
	spent atomic.Int64
}

// newBudget returns nil unless most is positive.
func newBudget(most int64) *budget {
	if most <= 0 {
		return nil
	}
	return &budget{most: most}
}

// take spends n bytes, or none if there are not so many left.
func (b *budget) take(n int64) bool {
	if b == nil {
		return true
	}
	if b.spent.Add(n) > b.most {
		b.spent.Add(-n)
		return false
	}
	return true
}

// give returns n bytes that were taken.
func (b *budget) give(n int64) {
	if b != nil {
		b.spent.Add(-n)
	}
}

// has reports whether n bytes are left.
func (b *budget) has(n int64) bool { return b == nil || b.spent.Load() <= b.most-n }

// overspent is the failure of a transfer that does not fit into what is fetched
// together with it.
func (b *budget) overspent() *failure {
	return &failure{cause: evidence.TooLarge,
		err: fmt.Errorf("with what was fetched before, more than the limit of %s bytes for all files together", evidence.Group(b.most))}
}

// crowded is the failure of a transfer for which there is no room on this machine now.
func (b *budget) crowded() *failure {
	return &failure{cause: evidence.Unreachable, retry: true,
		err: fmt.Errorf("other fetches take up the %s bytes that may be held at once", evidence.Group(b.most))}
}
