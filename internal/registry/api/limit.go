package api

import (
	"context"
	"math"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/hallmark-mcp/hallmark/internal/registry"
)

// Limits bound what clients may cost. Zero is no limit, for each.
type Limits struct {
	Requests Rate // of one address, for whatever it asks
	Logins   Rate // of one address
	Writes   Rate // of one bearer: publishes and changes of status

	Checks     int           // publishes whose packages are fetched at the same time
	EachChecks int           // of these, of one bearer, or without a token of one address
	CheckWait  time.Duration // how long a publish waits for that before it is told to come later
	Bytes      int64         // of request bodies in memory at the same time
	EachBytes  int64         // of these, of one address

	// Proxies are those whose X-Forwarded-For is believed. Without it an address is
	// that of the connection.
	Proxies []netip.Prefix
}

// Rate is a token bucket.
type Rate struct {
	PerSecond float64
	Burst     int // how many at once, after a time without
}

// maxBuckets is how many clients a limiter remembers, about 100 bytes each. A client that was
// forgotten begins with a full bucket.
const maxBuckets = 100_000

// limiter is a Rate for each of many clients, of which it remembers those that came
// last. There are two generations: when the newer is full the older is forgotten.
type limiter struct {
	rate Rate
	most int // in a generation

	mu       sync.Mutex
	newer    map[string]*rate.Limiter
	previous map[string]*rate.Limiter
}

func newLimiter(r Rate) *limiter {
	return &limiter{rate: r, most: maxBuckets / 2, newer: map[string]*rate.Limiter{}}
}

// take takes one from the bucket of key and returns 0, or says when there will be one.
// The empty key has no limit.
func (l *limiter) take(key string, now time.Time) time.Duration {
	if l.rate.PerSecond <= 0 || key == "" {
		return 0
	}
	l.mu.Lock()
	b, ok := l.newer[key]
	if !ok {
		if b, ok = l.previous[key]; !ok {
			b = rate.NewLimiter(rate.Limit(l.rate.PerSecond), max(l.rate.Burst, 1))
		}
		if len(l.newer) >= l.most {
			l.previous, l.newer = l.newer, make(map[string]*rate.Limiter, l.most)
		}
		l.newer[key] = b
	}
	l.mu.Unlock()
	r := b.ReserveN(now, 1)
	wait := r.DelayFrom(now)
	if wait > 0 {
		r.CancelAt(now)
	}
	return wait
}

// slowDown is the answer to a client that has reached its rate.
func slowDown(wait time.Duration, whose string) *registry.Problem {
	p := registry.NewProblem(http.StatusTooManyRequests, "too many requests %s", whose)
	p.RetryAfter = time.Duration(math.Ceil(wait.Seconds())) * time.Second
	return p
}

type addressKey struct{}

// address returns the address that a request is counted for; "" for none.
func address(ctx context.Context) string {
	a, _ := ctx.Value(addressKey{}).(string)
	return a
}

// client is the address that r is counted for: that of the connection, or if it is a
// trusted proxy's the last one in X-Forwarded-For that is not. For IPv6 it is the
// network of 64 bits, of which one client has all. This machine's own address is "":
// it is a proxy that nobody declared, or the operator.
func (l Limits) client(r *http.Request) string {
	trusted := func(a netip.Addr) bool {
		return slices.ContainsFunc(l.Proxies, func(p netip.Prefix) bool { return p.Contains(a) })
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return ""
	}
	at, err := netip.ParseAddr(host)
	if err != nil {
		return ""
	}
	at = at.Unmap().WithZone("")
	if trusted(at) {
		hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
		for _, hop := range slices.Backward(hops) {
			a, err := netip.ParseAddr(strings.TrimSpace(hop))
			if err != nil {
				break
			}
			if at = a.Unmap().WithZone(""); !trusted(at) {
				break
			}
		}
	}
	switch {
	case at.IsLoopback():
		return ""
	case at.Is6():
		p, err := at.Prefix(64)
		if err != nil {
			return ""
		}
		return p.String()
	}
	return at.String()
}
