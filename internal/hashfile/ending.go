package hashfile

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// endTime is how long answers may still be written after the client closed its end.
const endTime = 600 * time.Millisecond

// input is the client's end, and notes when the client closes it.
type input struct {
	io.ReadCloser
	once  sync.Once
	ended chan struct{}
}

// Read implements [io.Reader].
func (i *input) Read(p []byte) (int, error) {
	n, err := i.ReadCloser.Read(p)
	if err != nil {
		i.once.Do(func() { close(i.ended) })
	}
	return n, err
}

// wait waits until the session has ended. When the client closed its end and does not read the answer that is written,
// the session does not end by itself; then out is closed.
func (i *input) wait(session *mcp.ServerSession, out io.Closer) error {
	done := make(chan error, 1)
	go func() { done <- session.Wait() }()
	select {
	case err := <-done:
		return err
	case <-i.ended:
	}
	select {
	case err := <-done:
		return err
	case <-time.After(endTime):
	}
	go out.Close() // which may wait for what is written
	select {
	case <-done:
	case <-time.After(endTime / 8):
	}
	return nil
}

// noteCancelled tells the texts on their way to the client which calls it cancelled.
func (s *Server) noteCancelled(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if p, ok := req.GetParams().(*mcp.CancelledParams); ok && p != nil {
			s.texts.Cancel(p.RequestID)
		}
		return next(ctx, method, req)
	}
}
