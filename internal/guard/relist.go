package guard

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/hallmark-mcp/hallmark/internal/guard/jsonrpc"
	"github.com/hallmark-mcp/hallmark/surface"
)

// How often the guard lists: a server that announces changes without end is listed listBurst times at
// once and then once in restAfterLists. While the guard rests, calls are judged by the last listing.
const (
	listBurst      = 20
	restAfterLists = 500 * time.Millisecond
	listRounds     = 3 // how many listings a call waits for at most
)

// beginStateful starts the first listing after notifications/initialized.
func (r *relay) beginStateful() {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.initialized && !r.initializing:
		r.meta = nil
		r.relistAll()
	case r.initializing: // a client that does not wait for the answer
		r.initializedEarly = true
		r.startHolding()
	}
}

// beginStateless starts a listing for a client that makes no handshake. meta is the params._meta of its
// requests. r.mu is held.
func (r *relay) beginStateless(meta []byte, o Offers) {
	r.meta, r.offers = meta, o
	r.relistAll()
}

// relistAll begins a listing of everything that the server offers. Calls wait for it whatever the budget
// is. r.mu is held.
func (r *relay) relistAll() {
	for _, l := range Methods {
		r.stale[l.Kind] = true
	}
	r.startHolding()
	r.startLister()
}

// startHolding makes guarded requests wait from now on. r.mu is held.
func (r *relay) startHolding() {
	if r.holding == nil && !r.closed {
		r.holding = make(chan struct{})
	}
}

// relist marks kinds as stale and begins to list them. r.mu is held.
func (r *relay) relist(kinds ...surface.Kind) {
	if !r.listed && r.holding == nil {
		return // the first listing is still to come
	}
	for _, k := range kinds {
		r.stale[k] = true
	}
	r.startLister()
}

// startLister runs a lister if none does. r.mu is held.
func (r *relay) startLister() {
	if r.closed {
		return
	}
	r.refill()
	if r.budget > 0 {
		r.startHolding()
	}
	if !r.listing {
		r.listing = true
		r.running.Go(r.listStale)
	}
}

// refill adds to the budget the listings that became allowed since it was last called. r.mu is held.
func (r *relay) refill() {
	now := time.Now()
	if n := int(now.Sub(r.refilled) / r.o.rest); n > 0 {
		r.budget, r.refilled = min(listBurst, r.budget+n), now
	}
}

// listStale lists what is stale, and releases what waits for it, until nothing is stale.
func (r *relay) listStale() {
	s := session{relay: r}
	for {
		r.mu.Lock()
		r.refill()
		for r.budget == 0 && r.holding == nil {
			r.mu.Unlock()
			select {
			case <-time.After(r.o.rest):
			case <-r.ctx.Done():
			}
			r.mu.Lock()
			r.refill()
			if r.ctx.Err() != nil {
				break
			}
		}
		if r.ctx.Err() != nil || len(r.stale) == 0 && r.holding == nil {
			r.listing = false
			r.mu.Unlock()
			return
		}
		r.startHolding()
		r.mu.Unlock()
		for rounds := 1; ; rounds++ {
			again := r.listOnce()
			if last := rounds >= listRounds; (last || !again) && s.release(last) {
				break
			}
		}
	}
}

// listOnce lists the stale kinds once, judges them, and reports whether more became stale meanwhile.
func (r *relay) listOnce() (again bool) {
	r.mu.Lock()
	r.budget = max(0, r.budget-1)
	stale, offers := r.stale, r.offers
	r.stale = map[surface.Kind]bool{}
	l := Lister{Ask: r.ask, Meta: r.meta}
	r.mu.Unlock()
	if len(stale) == 0 {
		return false
	}

	ctx, cancel := context.WithTimeout(r.ctx, r.o.ListTimeout)
	defer cancel()
	type result struct {
		items []json.RawMessage
		err   error
	}
	results := map[surface.Kind]result{}
	for k, method := range Methods {
		if !stale[method.Kind] {
			continue
		}
		res := result{items: []json.RawMessage{}}
		if offers.Has(method.Capability) && !r.o.Approved.Exclude[method.Kind] {
			res.items, res.err = l.List(ctx, k)
		}
		results[method.Kind] = res
	}
	if r.ctx.Err() != nil {
		return false
	}

	r.mu.Lock()
	for kind, res := range results {
		r.surface.SetListing(kind, res.items, res.err)
	}
	r.listed = true
	report := r.surface.Report()
	again = len(r.stale) > 0
	r.mu.Unlock()
	r.noteReport(report)
	if r.o.Observed != nil {
		r.o.Observed(report)
	}
	return again
}

// noteReport writes a line for each drift that had none yet.
func (r *relay) noteReport(report Report) {
	for _, d := range report.Drift {
		r.noteDrift(d)
	}
	for _, key := range report.Absent {
		r.notes.PrintOnce(jsonrpc.ShowName(key) + ": " + NotShown)
	}
	for kind, why := range report.Failed {
		r.notes.Printf("%s", NotListed(kind, why))
	}
}

// ask sends a request of the guard's own. Its id holds a nonce, so that the server cannot answer it
// before it was asked.
func (r *relay) ask(ctx context.Context, method string, params []byte) (Answer, error) {
	r.mu.Lock()
	r.ownRequests++
	id := fmt.Sprintf("hallmark-%s-%d", r.nonce, r.ownRequests)
	r.sent++
	q := &request{kind: askGuard, answer: make(chan Answer, 1), order: r.sent}
	r.pending["s"+id] = q
	r.mu.Unlock()
	line := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%q,"method":%q,"params":%s}`+"\n", id, method, params)
	err := r.server.WriteAll(line)
	if err == nil {
		select {
		case a := <-q.answer:
			return a, nil
		case <-ctx.Done():
			err = fmt.Errorf("%s: no answer", method)
		case <-r.p.Exited():
			err = fmt.Errorf("%s: the server ended", method)
		}
	} else {
		err = fmt.Errorf("%s: %w", method, err)
	}
	r.mu.Lock()
	delete(r.pending, "s"+id)
	r.mu.Unlock()
	return Answer{}, err
}

// abandonHandshake releases what waits for a handshake that did not succeed.
func (s *session) abandonHandshake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.initializing = false
	if s.initializedEarly {
		s.initializedEarly = false
		s.startLister() // nothing is stale: it only releases the queue
	}
}

// relistChanged begins a listing if the notification called method announces a change.
func (s *session) relistChanged(method string) {
	for _, l := range Methods {
		if l.Note == method {
			s.mu.Lock()
			s.relist(l.Kind)
			s.mu.Unlock()
		}
	}
}
