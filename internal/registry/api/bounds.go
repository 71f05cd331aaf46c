package api

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/hallmark-mcp/hallmark/internal/registry"
)

// extendDeadline gives an answer as much time as a publish may take, which is more than the server
// grants other requests.
func (s *Server) extendDeadline(ctx huma.Context, next func(huma.Context)) {
	_, w := humago.Unwrap(ctx)
	// Not every writer has a deadline, those of tests for one.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(s.Timeout + registry.WriteTimeout))
	next(ctx)
}

// limitBodies admits a request if there is room in memory for its body. It counts the bytes that
// arrived, not those announced: a client that announces much and sends nothing takes no room.
func (s *Server) limitBodies(ctx huma.Context, next func(huma.Context)) {
	r, w := humago.Unwrap(ctx)
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(registry.BodyTimeout)) // see extendDeadline
	whose := address(ctx.Context())
	var held int64
	defer func() { s.bodies.give(whose, held) }()
	most := int(ctx.Operation().MaxBodyBytes) // no more will be read
	for body := make([]byte, 0, 4<<10); ; {
		n, err := r.Body.Read(body[len(body):min(cap(body), most)])
		body = body[:len(body)+n]
		taken, full := s.bodies.take(whose, held, int64(n))
		if full != nil {
			s.Counters.Limited.Add(1)
			WriteProblem(w, full)
			return
		}
		held += taken
		if err != nil || len(body) == most {
			rest := r.Body // gives its error again
			r.Body = struct {
				io.Reader
				io.Closer
			}{io.MultiReader(bytes.NewReader(body), rest), rest}
			next(ctx)
			return
		}
		if len(body) == cap(body) {
			body = slices.Grow(body, len(body))
		}
	}
}

// publisher returns the key under which publishes are limited: the bearer of a token, or an address.
// It is "" for this machine without a token.
func publisher(ctx context.Context, grant *registry.Grant) string {
	if grant != nil {
		return string(grant.Method) + " " + grant.Subject
	}
	return address(ctx)
}

// waitTurn waits until a publish of whose may fetch its packages; done lets the next one go. It takes
// the publisher's own place first, so that a publisher who waits for that keeps nobody else waiting.
func (s *Server) waitTurn(ctx context.Context, whose string) (done func(), err error) {
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
			p := registry.NewProblem(http.StatusServiceUnavailable, "too many publishes are being checked")
			if c == own {
				p = registry.NewProblem(http.StatusTooManyRequests, "%d publishes of this publisher are being checked",
					s.turns.each)
			}
			p.RetryAfter = retryAfter
			return nil, p
		}
	}
	return done, nil
}
