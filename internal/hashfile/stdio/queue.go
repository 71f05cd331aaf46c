package stdio

import "github.com/modelcontextprotocol/go-sdk/jsonrpc"

// request is a request of the client that is not answered yet.
type request struct {
	number    int // in the order of messages
	message   *jsonrpc.Request
	size      int // bytes that it holds while it waits
	tool      bool
	writes    bool
	cancelled bool
	batch     *batch // or nil
}

// passed is a message that is handed on without waiting: an answer or a notification.
type passed struct {
	number  int
	message jsonrpc.Message
}

// queue holds what came from the client and was not handed on, and knows what is at work.
type queue struct {
	number int
	size   int // bytes of requests that wait
	passed []passed
	calls  []*request // of tools
	others []*request

	byID        map[jsonrpc.ID]*request // which wait or are at work
	callsAtWork int
	otherAtWork int
	writing     bool // a call of a tool that writes is at work
}

// pass adds a message that does not wait.
func (q *queue) pass(m jsonrpc.Message) {
	q.number++
	q.passed = append(q.passed, passed{q.number, m})
}

// add adds a request. It returns false if too much waits already.
func (q *queue) add(r *request) bool {
	if q.size+r.size > maxWaiting {
		return false
	}
	q.number++
	r.number = q.number
	q.size += r.size
	q.byID[r.message.ID] = r
	if r.tool {
		q.calls = append(q.calls, r)
	} else {
		q.others = append(q.others, r)
	}
	return true
}

// next returns the first message, in the order in which they came, that may be handed on now, or nil.
func (q *queue) next() jsonrpc.Message {
	call := len(q.calls) > 0 && q.callsAtWork < maxCalls && !q.writing
	other := len(q.others) > 0 && q.otherAtWork < maxOthers
	if call && other {
		call = q.calls[0].number < q.others[0].number
		other = !call
	}
	var r *request
	switch {
	case call:
		r = q.calls[0]
	case other:
		r = q.others[0]
	}
	if len(q.passed) > 0 && (r == nil || q.passed[0].number < r.number) {
		m := q.passed[0].message
		q.passed = q.passed[1:]
		return m
	}
	if r == nil {
		return nil
	}
	if r.tool {
		q.calls = q.calls[1:]
		q.callsAtWork++
		q.writing = r.writes
	} else {
		q.others = q.others[1:]
		q.otherAtWork++
	}
	q.size -= r.size
	return r.message
}

// drop removes a request that waits. It returns false if it does not.
func (q *queue) drop(r *request) bool {
	waiting := &q.others
	if r.tool {
		waiting = &q.calls
	}
	for i, other := range *waiting {
		if other == r {
			*waiting = append((*waiting)[:i:i], (*waiting)[i+1:]...)
			q.size -= r.size
			delete(q.byID, r.message.ID)
			return true
		}
	}
	return false
}

// worked notes that the work of a request is done, so that its answer can be written.
func (q *queue) worked(r *request) {
	delete(q.byID, r.message.ID)
	if r.writes {
		q.writing = false
	}
}

// answered notes that nothing is held for a request any more.
func (q *queue) answered(r *request) {
	if r.tool {
		q.callsAtWork--
	} else {
		q.otherAtWork--
	}
}

// idle reports whether nothing waits and nothing is at work.
func (q *queue) idle() bool {
	return len(q.passed)+len(q.calls)+len(q.others)+q.callsAtWork+q.otherAtWork == 0
}
