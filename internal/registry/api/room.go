package api

import (
	"net/http"
	"sync"
	"time"

	"github.com/hallmark-mcp/hallmark/internal/registry"
)

// room limits the memory for request bodies, in all and for each address: one address that begins
// many large bodies and ends none could fill all of it. It applies before the token is checked,
// because a client needs no token to send a body.
type room struct {
	most, each int64 // bytes; 0: no limit

	mu   sync.Mutex
	held int64
	of   map[string]int64 // held by addresses that hold something; never of ""
}

func newRoom(l Limits) *room {
	return &room{most: max(l.Bytes, 0), each: max(l.EachBytes, 0), of: map[string]int64{}}
}

// take makes room for n bytes more of a body that has so many already, and returns how
// many to give back. One body alone may be larger than what there is.
func (r *room) take(whose string, has, n int64) (taken int64, p *registry.Problem) {
	r.mu.Lock()
	defer r.mu.Unlock()
	taken = n
	if r.most > 0 {
		taken = min(taken, r.most-has)
	}
	own := r.each > 0 && whose != ""
	if own {
		taken = min(taken, r.each-has)
	}
	switch {
	case own && r.of[whose]+taken > r.each:
		p = registry.NewProblem(http.StatusTooManyRequests, "too many requests of this address at once")
	case r.most > 0 && r.held+taken > r.most:
		p = registry.NewProblem(http.StatusServiceUnavailable, "too many requests at once")
	}
	if p != nil {
		p.RetryAfter = time.Second
		return 0, p
	}
	r.held += taken
	if own && taken > 0 {
		r.of[whose] += taken
	}
	return taken, nil
}

// give gives back what was taken.
func (r *room) give(whose string, taken int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held -= taken
	if _, ok := r.of[whose]; ok {
		if r.of[whose] -= taken; r.of[whose] == 0 {
			delete(r.of, whose)
		}
	}
}
