package guard

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/hallmark-mcp/hallmark/internal/guard/drift"
	"github.com/hallmark-mcp/hallmark/internal/guard/listing"
	"github.com/hallmark-mcp/hallmark/internal/guard/notes"
	"github.com/hallmark-mcp/hallmark/surface"
)

// How often the guard lists: a server that announces changes without end gets
// listBurst Methods at once and then one in restAfterLists. While the guard rests,
// calls are judged by the last listing.
const (
	listBurst      = 20
	restAfterLists = 500 * time.Millisecond
	listRounds     = 3 // Methods for which a call waits at most
)

// beginStateful starts the first listing after notifications/initialized.
func (r *relay) beginStateful() {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.initialized && !r.initializing:
		r.meta = nil
		r.startAll()
	case r.initializing: // a client that does not wait for the answer
		r.waiting = true
		r.startHolding()
	}
}

// beginStateless starts a listing for a client that makes no handshake; meta is what
// its requests carry. r.mu is held.
func (r *relay) beginStateless(meta []byte, o listing.Offers) {
	r.meta, r.offers = meta, o
	r.startAll()
}

// startAll begins a listing of everything that the server offers, for which calls
// wait however many there were. r.mu is held.
func (r *relay) startAll() {
	for _, l := range listing.Methods {
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
	if !r.lister {
		r.lister = true
		r.running.Go(r.watch)
	}
}

// refill adds the Methods that became allowed since it was last called. r.mu is held.
func (r *relay) refill() {
	now := time.Now()
	if n := int(now.Sub(r.refilled) / r.o.rest); n > 0 {
		r.budget, r.refilled = min(listBurst, r.budget+n), now
	}
}

// watch lists what is stale until nothing is.
func (r *relay) watch() {
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
			r.lister = false
			r.mu.Unlock()
			return
		}
		r.startHolding()
		r.mu.Unlock()
		for rounds := 1; ; rounds++ {
			again := r.round()
			if last := rounds >= listRounds; (last || !again) && s.release(last) {
				break
			}
		}
	}
}

// round lists the stale kinds once, judges them, and reports whether more became
// stale meanwhile.
func (r *relay) round() (again bool) {
	r.mu.Lock()
	r.budget = max(0, r.budget-1)
	stale, o := r.stale, r.offers
	r.stale = map[surface.Kind]bool{}
	l := listing.Lister{Ask: r.ask, Meta: r.meta}
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
	for k, listing := range listing.Methods {
		if !stale[listing.Kind] {
			continue
		}
		res := result{items: []json.RawMessage{}}
		if o.Has(listing.Capability) && !r.o.Approved.Exclude[listing.Kind] {
			res.items, res.err = l.List(ctx, k)
		}
		results[listing.Kind] = res
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
	r.announce(report)
	if r.o.Observed != nil {
		r.o.Observed(report)
	}
	return again
}

// announce writes a line for each drift that had none yet.
func (r *relay) announce(report drift.Report) {
	for _, d := range report.Drift {
		r.noteDrift(d)
	}
	for _, key := range report.Absent {
		r.notes.PrintOnce(notes.ShowName(key) + ": " + drift.NotShown)
	}
	for kind, why := range report.Failed {
		r.notes.Printf("%s", drift.NotListed(kind, why))
	}
}

// noteDrift writes a line about d, once.
func (r *relay) noteDrift(d drift.Drift) {
	verb := "withheld"
	if r.o.OnDrift == Warn {
		verb = "let through"
	}
	r.notes.PrintOnce(fmt.Sprintf("%s: %s; %s; run 'hallmark review %s'", notes.ShowName(d.Key), d.Reason, verb, notes.ShowText(r.o.Server)))
}
