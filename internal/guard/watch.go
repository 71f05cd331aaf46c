package guard

import (
	"context"
	"fmt"
	"time"

	"github.com/hallmark-mcp/hallmark/surface"
)

// How often the guard lists: a server that announces changes without end gets
// listBurst listings at once and then one in restAfterLists. While the guard rests,
// calls are judged by the last listing.
const (
	listBurst      = 20
	restAfterLists = 500 * time.Millisecond
	listRounds     = 3 // listings for which a call waits at most
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
func (r *relay) beginStateless(meta []byte, o offers) {
	r.meta, r.offers = meta, o
	r.startAll()
}

// startAll begins a listing of everything that the server offers, for which calls
// wait however many there were. r.mu is held.
func (r *relay) startAll() {
	for _, l := range listings {
		r.stale[l.kind] = true
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

// refill adds the listings that became allowed since it was last called. r.mu is held.
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
	l := lister{ask: r.ask, meta: r.meta}
	r.mu.Unlock()
	if len(stale) == 0 {
		return false
	}

	ctx, cancel := context.WithTimeout(r.ctx, r.o.ListTimeout)
	defer cancel()
	type result struct {
		items []rawItem
		err   error
	}
	results := map[surface.Kind]result{}
	for k, listing := range listings {
		if !stale[listing.kind] {
			continue
		}
		res := result{items: []rawItem{}}
		if o.capability(listing.capability) && !r.o.Approved.Exclude[listing.kind] {
			res.items, res.err = l.list(ctx, k)
		}
		results[listing.kind] = res
	}
	if r.ctx.Err() != nil {
		return false
	}

	r.mu.Lock()
	for kind, res := range results {
		r.sight.replace(kind, res.items, res.err)
	}
	r.listed = true
	report := r.sight.report()
	again = len(r.stale) > 0
	r.mu.Unlock()
	r.announce(report)
	if r.o.Observed != nil {
		r.o.Observed(report)
	}
	return again
}

// announce writes a line for each drift that had none yet.
func (r *relay) announce(report Report) {
	for _, d := range report.Drift {
		r.noteDrift(d)
	}
	for _, key := range report.Absent {
		r.noteOnce(showName(key) + ": " + NotShown)
	}
	for kind, why := range report.Failed {
		r.notes.printf("the server's %s could not be listed: %s", plural(kind), why)
	}
}

// noteDrift writes a line about d, once.
func (r *relay) noteDrift(d Drift) {
	verb := "withheld"
	if r.o.OnDrift == Warn {
		verb = "let through"
	}
	r.noteOnce(fmt.Sprintf("%s: %s; %s; run 'hallmark review %s'", showName(d.Key), d.Reason, verb, showText(r.o.Server)))
}
