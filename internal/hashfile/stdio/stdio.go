// Package stdio is the transport of the editing server: messages of JSON-RPC, one a line, between a client and the
// MCP SDK.
//
// The SDK's own transport ends the session at the first line that it cannot read. This one answers such a line with an
// error and goes on; only the end of the stream ends the session. It answers too what the SDK would read otherwise
// than the client meant: members named twice, ids that it would change. A message over the limit is skipped without
// being held.
//
// It decides what runs when. Tools that write run one after the other, in the order in which their calls came; a call
// of a tool that reads begins after the writing calls that came before it have ended. So a client that does not wait
// for answers finds what it wrote. Reading calls run at the same time, up to a bound, and the others wait in order. A
// call that the client cancels is not answered, and if it waited it never runs.
//
// When the input ends, the calls that came before have Grace to end and be answered; then they are cancelled.
package stdio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Limits of a session.
const (
	Grace       = 600 * time.Millisecond // for calls at work when the input ends
	unwind      = 200 * time.Millisecond // for calls to notice that they are cancelled
	writeTime   = 5 * time.Second        // likewise for calls of tools that write, which are not left half done
	maxCalls    = 16                     // calls of tools at work
	maxOthers   = 64                     // other requests at work
	maxWaiting  = 64 << 20               // bytes of requests that wait
	maxFaults   = 16 << 20               // bytes of errors that wait to be written
	maxBatch    = 128 << 20              // bytes of the answers of a batch
	maxMessages = 10_000                 // of a batch; each has an answer, and may have two bytes
)

// Options are what a session needs to know of its server.
type Options struct {
	MaxMessage int                                 // bytes of a message of the client
	Reads      func(tool string) bool              // reports whether a tool only reads
	Encode     func(io.WriteCloser) io.WriteCloser // what each message is written through, in one write; nil is nothing
}

// Serve connects a server with the client behind in and out, and returns when the session has ended: nil if the client
// closed in, the error of ctx if that ended, or why in or out failed. It closes both. Calls that do not heed their
// cancellation are left behind; those that write are waited for longer.
func Serve(ctx context.Context, server *mcp.Server, in io.ReadCloser, out io.WriteCloser, o Options) error {
	c := newConn(in, out, o)
	calls := &work{ended: make(chan struct{}, 1)}
	server.AddReceivingMiddleware(calls.count(o.Reads))
	session, err := server.Connect(ctx, transport{c}, nil)
	if err != nil {
		return fmt.Errorf("begin the client's session: %w", err)
	}
	defer context.AfterFunc(ctx, c.interrupt)()
	done := make(chan error, 1)
	go func() { done <- session.Wait() }()
	select {
	case err = <-done:
	case <-c.over:
		err = errors.Join(calls.wait(done), c.failure())
	}
	c.Close()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err == nil || errors.Is(err, io.EOF) || c.closedByClient():
		return nil
	}
	return fmt.Errorf("serve the client: %w", err)
}

// transport hands out one connection.
type transport struct{ c *conn }

func (t transport) Connect(context.Context) (mcp.Connection, error) {
	t.c.start()
	return t.c, nil
}
