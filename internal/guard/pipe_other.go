//go:build !linux

package guard

import (
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// On these systems a source and a sink that are owned end by being closed, which
// the runtime's poller allows; others cannot be stopped while they wait.

var errStopped = errors.New("stopped")

const linger = 100 * time.Millisecond

type source struct {
	r       io.Reader
	owned   bool
	stopped atomic.Bool
	once    sync.Once
}

func newSource(r io.Reader, owned bool) *source { return &source{r: r, owned: owned} }

func (s *source) stoppable() bool { return s.owned }

func (s *source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err != nil && s.stopped.Load() {
		err = io.EOF
	}
	return n, err
}

func (s *source) stop() {
	if s.stopped.Swap(true) || !s.owned {
		return
	}
	if d, ok := s.r.(interface{ SetReadDeadline(time.Time) error }); ok &&
		d.SetReadDeadline(time.Now().Add(linger)) == nil {
		return
	}
	time.AfterFunc(linger, s.close)
}

func (s *source) close() {
	if c, ok := s.r.(io.Closer); ok && s.owned {
		s.once.Do(func() { c.Close() })
	}
}

type sink struct {
	w       io.Writer
	owned   bool
	stopped atomic.Bool
	once    sync.Once

	written atomic.Int64 // bytes, at last count

	mu  sync.Mutex
	err error
}

func newSink(w io.Writer, owned bool) *sink { return &sink{w: w, owned: owned} }

func (s *sink) write(p []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil && s.stopped.Load() {
		s.err = errStopped
	}
	if s.err == nil {
		var n int
		n, s.err = s.w.Write(p)
		s.written.Add(int64(n))
	}
	return s.err
}

func (s *sink) stop() {
	s.stopped.Store(true)
	if c, ok := s.w.(io.Closer); ok && s.owned {
		s.once.Do(func() { c.Close() })
	}
}

func (s *sink) close() { s.stop() }
