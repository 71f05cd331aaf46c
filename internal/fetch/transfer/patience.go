package transfer

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync"
	"time"

	"github.com/hallmark-mcp/hallmark/internal/wire"
)

// How long a host may be silent before it has answered anything.
const (
	sayAfter    = 2 * time.Second  // until a person is told
	giveUpAfter = 10 * time.Second // until it is given up
)

// SilentError says that a host gave neither a connection nor a byte of an answer.
type SilentError struct{ Host string }

// Error names the host.
func (e *SilentError) Error() string {
	return fmt.Sprintf("no answer from %s within %s", wire.Plain(e.Host, 255), giveUpAfter)
}

// Patience bounds how long one command waits for hosts that are silent. Each is waited for once: what it is asked
// later fails at once with the same error. A host that has answered once is no longer watched; what it is asked has
// the limits of its caller. Nil waits as long as these say. It is safe for concurrent use.
type Patience struct {
	Say   func(host string)                              // tells a person who is waited for; may be nil
	After func(time.Duration, func()) (stop func() bool) // nil is [time.AfterFunc]

	mu    sync.Mutex
	hosts map[string]*watched
}

// watched is what is known of a host.
type watched struct {
	answered, said bool
	silent         error // not nil: it was given up
}

// Over is next under p.
func (p *Patience) Over(next http.RoundTripper) http.RoundTripper {
	if p == nil {
		return next
	}
	return patient{p, next}
}

// patient sends requests under a Patience.
type patient struct {
	p    *Patience
	next http.RoundTripper
}

// RoundTrip sends r, and ends it if its host is given up. The time begins when a connection is wanted: before that
// a person may be asked about a proxy.
func (t patient) RoundTrip(r *http.Request) (*http.Response, error) {
	host := r.URL.Host
	if err := t.p.of(host).silent; err != nil {
		if r.Body != nil {
			r.Body.Close()
		}
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	var once sync.Once
	stop := func() {}
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GetConn: func(string) {
		once.Do(func() { stop = t.p.watch(host, cancel) })
	}})
	resp, err := t.next.RoundTrip(r.WithContext(ctx))
	once.Do(func() {}) // nothing begins any more
	stop()
	if err != nil {
		if silent, ok := context.Cause(ctx).(*SilentError); ok {
			err = silent
		}
		cancel(nil)
		return nil, err
	}
	t.p.update(host, func(w *watched) { w.answered = true })
	resp.Body = endingBody{resp.Body, func() { cancel(nil) }}
	return resp, nil
}

// watch begins the time of a request to host, which giveUp ends, and returns what ends the watching.
func (p *Patience) watch(host string, giveUp func(error)) (stop func()) {
	if p.of(host).answered {
		return func() {}
	}
	after := p.After
	if after == nil {
		after = func(d time.Duration, f func()) func() bool { return time.AfterFunc(d, f).Stop }
	}
	stopSaying := after(sayAfter, func() {
		say := false
		p.update(host, func(w *watched) { say, w.said = !w.said && !w.answered, true })
		if say && p.Say != nil {
			p.Say(host)
		}
	})
	stopWaiting := after(giveUpAfter, func() {
		p.update(host, func(w *watched) {
			if !w.answered {
				w.silent = &SilentError{host}
				giveUp(w.silent)
			}
		})
	})
	return func() {
		stopSaying()
		stopWaiting()
	}
}

// of is what is known of host.
func (p *Patience) of(host string) (w watched) {
	p.update(host, func(known *watched) { w = *known })
	return w
}

// update changes what is known of host.
func (p *Patience) update(host string, change func(*watched)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.hosts == nil {
		p.hosts = map[string]*watched{}
	}
	if p.hosts[host] == nil {
		p.hosts[host] = &watched{}
	}
	change(p.hosts[host])
}

// endingBody releases the context of its request when it is closed.
type endingBody struct {
	io.ReadCloser
	end func()
}

// Close closes the body.
func (b endingBody) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}
