package texts

import (
	"context"
	"encoding/json"
	"sync"
)

// cancellations knows which calls were cancelled when their answers were ready. The SDK does not tell: to it a call has
// ended when its answer waits to be written, which for a large text takes long.
type cancellations struct {
	mu        sync.Mutex
	cancelled map[string]bool // ids, as JSON
	writing   string          // the id of the answer that is written; "" is none
	stop      context.CancelFunc
}

// maxCancelled is how many ids are held at most.
const maxCancelled = 1000

// Cancel records that the client cancelled the call with an id. If its answer has a text, that is not written, or not
// to its end.
func (t *Texts) Cancel(id any) {
	text, err := json.Marshal(id)
	if err != nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	c := &t.calls
	c.mu.Lock()
	defer c.mu.Unlock()
	if string(text) == c.writing {
		c.stop()
		return
	}
	if len(t.waits) == 0 { // no answer with a text is ready
		return
	}
	if c.cancelled == nil || len(c.cancelled) >= maxCancelled {
		c.cancelled = map[string]bool{}
	}
	c.cancelled[string(text)] = true
}

// forget forgets which calls were cancelled.
func (c *cancellations) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cancelled = nil
}

// begin returns the context of the answer with an id while it is written, until done is called. It ends when the call
// is cancelled, and has ended if it was.
func (c *cancellations) begin(id json.RawMessage) (ctx context.Context, done func()) {
	ctx, stop := context.WithCancel(context.Background())
	key := string(id)
	var value any
	if json.Unmarshal(id, &value) == nil {
		if same, err := json.Marshal(value); err == nil {
			key = string(same)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cancelled[key] {
		delete(c.cancelled, key)
		stop()
	}
	c.writing, c.stop = key, stop
	return ctx, func() {
		c.mu.Lock()
		c.writing, c.stop = "", nil
		c.mu.Unlock()
		stop()
	}
}
