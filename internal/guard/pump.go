package guard

import (
	"errors"
	"time"

	"github.com/hallmark-mcp/hallmark/internal/guard/jsonrpc"
)

// pump reads lines until their end, handles each, and writes to out what handle
// returns: the line itself if it is untouched, another line, or nil. Untouched lines
// that arrived together are written together.
func (s *session) pump(l *jsonrpc.Lines, handle func([]byte, error) []byte, out func([]byte) error) {
	var run []byte // untouched lines, adjoining in the buffer of l
	s.flush = func() bool {
		if len(run) == 0 {
			return true
		}
		err := out(run)
		run = nil
		return err == nil
	}
	for {
		line, err := l.Next()
		if err != nil && !errors.Is(err, jsonrpc.ErrLong) {
			return
		}
		s.tail = l.Tail
		write := handle(line, err)
		ok := true
		if len(write) > 0 && &write[0] == &line[0] {
			if len(run) > 0 {
				run = run[:len(run)+len(line)]
			} else {
				run = line
			}
		} else if len(write) > 0 {
			ok = s.flush() && out(write) == nil
		} else {
			ok = s.flush() // what was cut out parts the lines
		}
		if ok && (s.then != nil || !l.Buffered()) {
			ok = s.flush()
		}
		if then := s.then; then != nil {
			s.then = nil
			then()
		}
		if !ok {
			return
		}
	}
}

// toClient writes to the client, and remembers if it went away.
func (r *relay) toClient(b []byte) error {
	err := r.client.WriteAll(b)
	if err != nil {
		r.leave()
		return nil // the server's output is read on, so that it can end
	}
	return nil
}

// reply writes what the server's pump has to say to the server. The pump itself
// must not: a server that writes while it does not read would block both.
func (r *relay) reply() {
	for {
		select {
		case line := <-r.replies:
			r.server.WriteAll(line)
		case <-r.ctx.Done():
			return
		}
	}
}

// settleLeft is how long calls may wait for a listing once the client has left.
const settleLeft = 250 * time.Millisecond

// settle waits until held calls have been passed on, before the server's input is
// closed: a client may send all it has to say and close at once.
func (r *relay) settle(serverDone <-chan struct{}) {
	r.mu.Lock()
	holding := r.holding
	r.mu.Unlock()
	if holding == nil {
		return
	}
	t := time.NewTimer(settleLeft)
	defer t.Stop()
	select {
	case <-holding:
	case <-serverDone:
	case <-r.gone:
	case <-r.p.Exited():
	case <-t.C:
	}
}

// deliverLeft is how long a client that has left may take nothing of what is delivered.
const deliverLeft = 200 * time.Millisecond

// deliver waits until the client got all that the server had written. A client that
// takes nothing for deliverLeft gets no more if it has left, and after twelve times the
// grace if it has not.
func (r *relay) deliver(leaving, serverDone <-chan struct{}) {
	tick := min(r.o.grace, deliverLeft)
	t := time.NewTicker(tick)
	defer t.Stop()
	last, idle := r.client.Written(), time.Duration(0)
	for {
		select {
		case <-serverDone:
			return
		case <-r.gone:
			<-serverDone
			return
		case <-t.C:
		}
		if now := r.client.Written(); now != last {
			last, idle = now, 0
			continue
		}
		idle += tick
		most := 12 * r.o.grace
		select {
		case <-leaving:
			most = tick
		default:
		}
		if idle >= most {
			r.client.Stop()
		}
	}
}
