package stdio

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// heard are the notifications that mean something to a server. Others are dropped, so that they do not pile up.
var heard = []string{"notifications/initialized", "notifications/cancelled", "notifications/roots/list_changed"}

// batched are the versions of the protocol that have batches.
var batched = []string{"2024-11-05", "2025-03-26"}

// receive reads lines to the end of the input.
func (c *conn) receive(l *lines) {
	for {
		line, over, err := l.next()
		if err != nil {
			c.end(err)
			return
		}
		c.mu.Lock()
		if over != nil {
			c.refuseExcess(over)
		} else {
			c.receiveLine(bytes.Trim(line, " \t\r"))
		}
		finished := c.finished
		c.changed.Broadcast()
		c.mu.Unlock()
		if finished {
			return
		}
	}
}

// refuseExcess answers a message over the limit.
func (c *conn) refuseExcess(over *excess) {
	id, answers := over.identify()
	if !answers {
		c.refuse(invalid(id, fmt.Sprintf("the message has more than %d bytes (--max-request)", c.o.MaxMessage)))
		return
	}
	if sdk, ok := parseID(id); ok && c.asked[sdk] {
		delete(c.asked, sdk)
		c.queue.pass(&jsonrpc.Response{ID: sdk, Error: &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest,
			Message: "the client's answer is too large"}})
	}
}

func (c *conn) receiveLine(line []byte) {
	switch {
	case len(line) == 0:
	case !json.Valid(line):
		c.refuse(unparsable())
	case line[0] == '[':
		c.receiveBatch(elements(line, maxMessages))
	default:
		if f := c.accept(line, nil); f != nil {
			c.refuse(f)
		}
	}
}

// receiveBatch takes up the messages of an array.
func (c *conn) receiveBatch(all [][]byte) {
	switch {
	case len(all) == 0:
		c.refuse(invalid(nil, "the batch is empty"))
		return
	case len(all) > maxMessages:
		c.refuse(invalid(nil, fmt.Sprintf("the batch has more than %d messages", maxMessages)))
		return
	case c.version != "" && !slices.Contains(batched, c.version):
		c.refuse(invalid(nil, "this version of the protocol has no batches; send one message a line"))
		return
	}
	b := &batch{left: 1}
	for _, one := range all {
		b.left++
		if f := c.accept(one, b); f != nil {
			b.add(c.unlessInUse(f).answer())
		}
	}
	if text := b.add(nil); text != nil {
		c.addFault(text)
	}
}

// accept takes up a message, which may be one of a batch. It returns why not, if the client is to be told.
func (c *conn) accept(data []byte, b *batch) *fault {
	m, f := parse(data)
	if f != nil {
		return f
	}
	switch r := m.request; {
	case r != nil && r.IsCall():
		return c.acceptRequest(m, len(data), b)
	case r != nil && r.Method == "notifications/cancelled":
		c.cancel(m)
	case r != nil && slices.Contains(heard, r.Method):
		c.queue.pass(r)
	case m.response != nil && c.asked[m.response.ID]:
		delete(c.asked, m.response.ID)
		c.queue.pass(m.response)
	}
	if b != nil {
		b.left-- // it has no answer
	}
	return nil
}

func (c *conn) acceptRequest(m message, size int, b *batch) *fault {
	if c.queue.byID[m.request.ID] != nil {
		return invalid(nil, "the id is that of a request that is not answered yet")
	}
	if c.version == "" && m.version != "" {
		c.version = m.version
	}
	tool := m.request.Method == "tools/call"
	r := &request{message: m.request, size: size + 512, tool: tool, writes: tool && !c.o.Reads(m.tool), batch: b}
	if !c.queue.add(r) {
		return &fault{code: codeBusy, text: "too many requests wait; wait for answers", id: m.id}
	}
	return nil
}

// cancel cancels a request: one that waits never runs, and one at work is told by the SDK.
func (c *conn) cancel(m message) {
	r := c.queue.byID[m.cancels]
	if r == nil || r.cancelled || r.message.Method == "initialize" {
		return
	}
	r.cancelled = true
	if !c.queue.drop(r) {
		c.queue.pass(m.request)
	} else if r.batch != nil {
		if text := r.batch.add(nil); text != nil {
			c.addFault(text)
		}
	}
}

// refuse answers a message with an error.
func (c *conn) refuse(f *fault) { c.addFault(c.unlessInUse(f).answer()) }

// unlessInUse returns the error without its id if a request at work has that too, of which it would seem the answer.
func (c *conn) unlessInUse(f *fault) *fault {
	if id, ok := parseID(f.id); ok && c.queue.byID[id] != nil {
		f.id = nil
	}
	return f
}

// addFault leaves a message to writeFaults. A client that does not read gets only so many.
func (c *conn) addFault(text []byte) {
	if c.faultSize+len(text) <= maxFaults || len(c.faults) == 0 {
		c.faults = append(c.faults, text)
		c.faultSize += len(text)
	}
}

// writeFaults writes errors to the end of the session.
func (c *conn) writeFaults() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		for len(c.faults) == 0 && !c.finished {
			c.changed.Wait()
		}
		if c.finished {
			return
		}
		text := c.faults[0]
		c.mu.Unlock()
		err := c.out.writeLine(text)
		c.mu.Lock()
		if err != nil { // the SDK meets the same error, if it has anything to say
			c.faults, c.faultSize = nil, 0
			if !c.ended {
				c.err = err
			}
			c.finish()
			return
		}
		c.faults = c.faults[1:]
		c.faultSize -= len(text)
		c.changed.Broadcast()
	}
}
