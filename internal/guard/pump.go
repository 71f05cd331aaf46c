package guard

import (
	"errors"
	"time"

	"github.com/hallmark-mcp/hallmark/internal/guard/jsonrpc"
)

// pump reads lines until their end, handles each, and writes to out what handle returns: the line
// itself if it is untouched, another line, or nil. Untouched lines that arrived together are written
// together.
func (s *session) pump(l *jsonrpc.Lines, handle func([]byte, error) []byte, out func([]byte) error) {
	var run []byte // untouched lines, which adjoin in the buffer of l
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
		s.lineEnd = l.Tail
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
			ok = s.flush() // the next untouched line does not adjoin the last
		}
		if ok && (s.afterWrite != nil || !l.Buffered()) {
			ok = s.flush()
		}
		if then := s.afterWrite; then != nil {
			s.afterWrite = nil
			then()
		}
		if !ok {
			return
		}
	}
}

// writeReplies writes the answers of the server's pump to the server. The pump itself must not: a
// server that writes while it does not read would block both.
func (r *relay) writeReplies() {
	for {
		select {
		case line := <-r.replies:
			r.server.WriteAll(line)
		case <-r.ctx.Done():
			return
		}
	}
}

// waitForAnswers waits until no request of the client waits any more, before the server's input is closed: a
// client may send everything and close at once. When spent is closed, the server has had its time.
func (r *relay) waitForAnswers(serverDone, spent <-chan struct{}) {
	for r.anyWaits() {
		select {
		case <-r.settled:
		case <-serverDone:
			return
		case <-r.gone:
			return
		case <-r.p.Exited():
			return
		case <-spent:
			return
		}
	}
}

// anyWaits reports whether a request of the client waits for its answer, or the guard lists the surface: for what
// is held, and to note what drifted.
func (r *relay) anyWaits() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.holding != nil {
		return true
	}
	for _, q := range r.pending {
		if q.waits() {
			return true
		}
	}
	return false
}

// deliveryGrace is how long a client that has left may read nothing of what is delivered.
const deliveryGrace = 200 * time.Millisecond

// waitForDelivery waits until the client got all that the server had written. A client that reads
// nothing gets no more: after deliveryGrace if it has left, and else after twelve times the grace.
func (r *relay) waitForDelivery(leaving, serverDone <-chan struct{}) {
	tick := min(r.o.grace, deliveryGrace)
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
