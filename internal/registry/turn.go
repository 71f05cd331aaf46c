package registry

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/hallmark-mcp/hallmark/internal/registry/auth"
)

// turns are the places for publishes whose packages are fetched: so many for all, and so
// many for each publisher, as one whose hosts are slow could have all of them.
type turns struct {
	all  chan struct{} // nil: no limit
	each int           // 0: no limit

	mu sync.Mutex
	of map[string]*places // of publishers who have a place or wait for one
}

// places are those of one publisher.
type places struct {
	taken chan struct{}
	users int // who wait or have one; with none the places are forgotten
}

func newTurns(l Limits) *turns {
	t := &turns{each: max(l.EachChecks, 0), of: map[string]*places{}}
	if l.Checks > 0 {
		t.all = make(chan struct{}, l.Checks)
	}
	return t
}

// enter returns the places of whose, nil if there is no limit for it. Each enter needs a
// leave.
func (t *turns) enter(whose string) chan struct{} {
	if t.each == 0 || whose == "" {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.of[whose]
	if p == nil {
		p = &places{taken: make(chan struct{}, t.each)}
		t.of[whose] = p
	}
	p.users++
	return p.taken
}

func (t *turns) leave(whose string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p := t.of[whose]; p != nil {
		if p.users--; p.users == 0 {
			delete(t.of, whose)
		}
	}
}

// publisher is whom a publish is counted for: the bearer of a token, or an address. It is
// "" for this machine without a token.
func publisher(ctx context.Context, grant *auth.Grant) string {
	if grant != nil {
		return string(grant.Method) + " " + grant.Subject
	}
	return address(ctx)
}

// turn waits until a publish of whose may fetch its packages; done lets the next one. The
// publisher's own place comes first, so that who waits for it keeps nobody else waiting.
func (s *server) turn(ctx context.Context, whose string) (done func(), err error) {
	var held []chan struct{}
	own := s.turns.enter(whose)
	done = func() {
		for _, c := range held {
			<-c
		}
		if own != nil {
			s.turns.leave(whose)
		}
	}
	wait := time.NewTimer(s.Limits.CheckWait)
	defer wait.Stop()
	for _, c := range []chan struct{}{own, s.turns.all} {
		if c == nil {
			continue
		}
		select {
		case c <- struct{}{}:
			held = append(held, c)
		case <-ctx.Done():
			done()
			return nil, ctx.Err()
		case <-wait.C:
			done()
			s.Counters.Limited.Add(1)
			p := problem(http.StatusServiceUnavailable, "too many publishes are being checked")
			if c == own {
				p = problem(http.StatusTooManyRequests, "%d publishes of this publisher are being checked", s.turns.each)
			}
			p.RetryAfter = retryAfter
			return nil, p
		}
	}
	return done, nil
}
