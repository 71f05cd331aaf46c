package stdio

import (
	"context"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// work counts the requests that the server works at, without the writing of their answers.
type work struct {
	mu     sync.Mutex
	all    int
	writes int           // of them, calls of tools that write
	ended  chan struct{} // holds a token after a request ended
}

// count returns a middleware that counts requests.
func (w *work) count(reads func(tool string) bool) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			writes := 0
			if p, ok := req.GetParams().(*mcp.CallToolParamsRaw); ok && p != nil && !reads(p.Name) {
				writes = 1
			}
			w.add(1, writes)
			defer func() {
				w.add(-1, -writes)
				select {
				case w.ended <- struct{}{}:
				default:
				}
			}()
			return next(ctx, method, req)
		}
	}
}

func (w *work) add(all, writes int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all, w.writes = w.all+all, w.writes+writes
}

// left returns how many requests are at work, and how many of them write.
func (w *work) left() (all, writes int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.all, w.writes
}

// wait returns when all requests, which were cancelled, have ended, or the time for it is over. Done gives the error of
// the session, which may never come if the client does not read.
func (w *work) wait(done <-chan error) error {
	unwound, written := time.After(unwind), time.After(writeTime)
	patient := true
	for {
		all, writes := w.left()
		if writes == 0 && (all == 0 || !patient) {
			return nil
		}
		select {
		case err := <-done:
			return err
		case <-w.ended:
		case <-unwound:
			patient = false
		case <-written:
			return nil
		}
	}
}
