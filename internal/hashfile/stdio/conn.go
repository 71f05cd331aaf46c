package stdio

import (
	"context"
	"encoding/json"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// conn is the connection with one client. A goroutine reads its lines and never waits for anything else, so that the
// end of the input and cancellations are always seen. Another writes the errors that the SDK knows nothing of.
type conn struct {
	o    Options
	in   io.ReadCloser
	out  *output
	over chan struct{} // closed when Read returns nothing any more

	mu        sync.Mutex
	changed   *sync.Cond
	queue     queue
	faults    [][]byte            // to be written
	faultSize int                 // bytes of them
	asked     map[jsonrpc.ID]bool // requests of the server that the client has not answered
	version   string              // of the protocol, that the client asked for
	ended     bool                // the input has ended
	finished  bool                // nothing is handed on any more
	err       error               // why, of Read
}

func newConn(in io.ReadCloser, out io.WriteCloser, o Options) *conn {
	c := &conn{o: o, in: in, out: newOutput(out, o.Encode), over: make(chan struct{}), asked: map[jsonrpc.ID]bool{},
		err: io.EOF}
	c.queue.byID = map[jsonrpc.ID]*request{}
	c.changed = sync.NewCond(&c.mu)
	return c
}

// start begins to read.
func (c *conn) start() {
	go c.receive(newLines(c.in, c.o.MaxMessage))
	go c.writeFaults()
}

func (c *conn) SessionID() string { return "" }

// Read returns the next message that is to be worked at.
func (c *conn) Read(ctx context.Context) (jsonrpc.Message, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		if c.ended && c.queue.idle() && len(c.faults) == 0 {
			c.finish()
		}
		if c.finished {
			return nil, c.err
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if m := c.queue.next(); m != nil {
			return m, nil
		}
		c.changed.Wait()
	}
}

// finish hands on nothing any more. The SDK then cancels what is at work.
func (c *conn) finish() {
	if !c.finished {
		c.finished = true
		close(c.over)
		c.changed.Broadcast()
	}
}

// interrupt ends the session without waiting.
func (c *conn) interrupt() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.finish()
}

// Close ends the session and closes both streams.
func (c *conn) Close() error {
	c.interrupt()
	return c.out.close(c.in)
}

// closedByClient reports whether the client closed its side.
func (c *conn) closedByClient() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ended && c.err == io.EOF
}

// failure returns why a stream failed, or nil.
func (c *conn) failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == io.EOF {
		return nil
	}
	return c.err
}

// end notes the end of the input. What the server asked the client is not answered any more.
func (c *conn) end(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended, c.err = true, err
	for id := range c.asked {
		c.queue.pass(gone(id))
	}
	clear(c.asked)
	time.AfterFunc(Grace, c.interrupt)
	c.changed.Broadcast()
}

// gone is the answer to a request of the server that the client cannot answer.
func gone(id jsonrpc.ID) *jsonrpc.Response {
	return &jsonrpc.Response{ID: id, Error: &jsonrpc.Error{Code: jsonrpc.CodeInternalError,
		Message: "the client has closed its side"}}
}

// Write writes a message to the client, but for answers to requests that it cancelled.
func (c *conn) Write(ctx context.Context, m jsonrpc.Message) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if r, ok := m.(*jsonrpc.Response); ok {
		return c.answer(r)
	}
	if r, ok := m.(*jsonrpc.Request); ok && r.IsCall() && !c.ask(r.ID) {
		return nil
	}
	text, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	return c.out.writeLine(text)
}

// ask notes a request of the server; it returns false, and answers it, if the client cannot do so any more.
func (c *conn) ask(id jsonrpc.ID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		c.queue.pass(gone(id))
		c.changed.Broadcast()
		return false
	}
	c.asked[id] = true
	return true
}

// answer writes the answer to a request.
func (c *conn) answer(m *jsonrpc.Response) error {
	c.mu.Lock()
	r := c.queue.byID[m.ID]
	if r == nil {
		c.mu.Unlock()
		return nil
	}
	c.queue.worked(r)
	c.changed.Broadcast()
	cancelled := r.cancelled
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.queue.answered(r)
		c.changed.Broadcast()
	}()
	var text []byte
	if !cancelled {
		var err error
		if text, err = jsonrpc.EncodeMessage(m); err != nil {
			text = (&fault{code: jsonrpc.CodeInternalError, text: "the answer cannot be written", id: rawID(m.ID)}).answer()
		}
	}
	switch {
	case r.batch != nil:
		return c.answerInBatch(r, text)
	case cancelled:
		return nil
	}
	return c.out.writeLine(text)
}

// answerInBatch adds an answer to those of its batch, and writes them if it is the last one.
func (c *conn) answerInBatch(r *request, text []byte) error {
	text, err := encode(c.o.Encode, text)
	if err != nil {
		return err
	}
	c.mu.Lock()
	if len(text) > 0 && r.batch.size+len(text) > maxBatch {
		text = (&fault{code: codeBusy, text: "the answers of the batch are too large together; ask one by one",
			id: rawID(r.message.ID)}).answer()
	}
	all := r.batch.add(text)
	c.mu.Unlock()
	if all == nil {
		return nil
	}
	return c.out.writeLine(all)
}

// rawID returns an id as it is written.
func rawID(id jsonrpc.ID) json.RawMessage {
	text, _ := json.Marshal(id.Raw())
	return text
}
