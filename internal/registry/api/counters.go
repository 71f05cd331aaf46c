package api

import (
	"slices"
	"sync/atomic"

	"github.com/hallmark-mcp/hallmark/internal/registry"
)

// Counters counts what publishes came to, since the program started.
type Counters struct {
	Published     atomic.Int64 // records inserted
	Repeated      atomic.Int64 // the same bytes again
	Conflicts     atomic.Int64 // other bytes under a version that exists
	Invalid       atomic.Int64 // documents that are no valid server.json
	Unauthorized  atomic.Int64 // requests without a token that permits them
	Refused       atomic.Int64 // refused for their evidence
	Tolerated     atomic.Int64 // published although a hash failed, as validation only observes
	StatusChanges atomic.Int64 // records whose status changed
	Logins        atomic.Int64 // tokens issued
	LoginsRefused atomic.Int64
	Limited       atomic.Int64 // requests refused for a rate or for what is in flight

	failures [6]atomic.Int64 // indexed as hashStatuses
}

var hashStatuses = []registry.HashStatus{registry.HashMismatch, registry.HashNotFound, registry.HashUnreachable,
	registry.HashTooLarge, registry.HashAmbiguous, registry.HashUnsupported}

// Failures is the number of claims that failed with s, in publishes that were
// refused and in those that were tolerated.
func (c *Counters) Failures(s registry.HashStatus) int64 {
	i := slices.Index(hashStatuses, s)
	if i < 0 {
		return 0
	}
	return c.failures[i].Load()
}

// fail counts a claim that failed with s.
func (c *Counters) fail(s registry.HashStatus) {
	if i := slices.Index(hashStatuses, s); i >= 0 {
		c.failures[i].Add(1)
	}
}
