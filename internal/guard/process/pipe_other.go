//go:build !linux

package process

import (
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// On these systems a Source and a Sink that are owned are stopped by closing them, which the
// runtime's poller allows; others cannot be stopped while they wait.

var errStopped = errors.New("stopped")

// linger is how long a stopped Source goes on waiting for bytes that are on their way.
const linger = 100 * time.Millisecond

// Source is the end of a stream that is read.
type Source struct {
	r       io.Reader
	owned   bool
	stopped atomic.Bool
	once    sync.Once
}

// NewSource reads r. If it is owned it is closed by Close and lingers when it is stopped.
func NewSource(r io.Reader, owned bool) *Source { return &Source{r: r, owned: owned} }

// CanStop reports whether Stop ends a Read that waits.
func (s *Source) CanStop() bool { return s.owned }

// Read is for one goroutine. It ends with io.EOF also when the source is stopped.
func (s *Source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err != nil && s.stopped.Load() {
		err = io.EOF
	}
	return n, err
}

// Stop ends the stream once nothing more arrives for the time of linger.
func (s *Source) Stop() {
	if s.stopped.Swap(true) || !s.owned {
		return
	}
	if d, ok := s.r.(interface{ SetReadDeadline(time.Time) error }); ok &&
		d.SetReadDeadline(time.Now().Add(linger)) == nil {
		return
	}
	time.AfterFunc(linger, s.Close)
}

// Close releases what belongs to the source.
func (s *Source) Close() {
	if c, ok := s.r.(io.Closer); ok && s.owned {
		s.once.Do(func() { c.Close() })
	}
}

// Sink is the end of a stream that is written.
type Sink struct {
	w       io.Writer
	owned   bool
	stopped atomic.Bool
	once    sync.Once

	written atomic.Int64 // bytes, at last count

	mu  sync.Mutex
	err error
}

// NewSink writes to w. If it is owned it is closed by Close.
func NewSink(w io.Writer, owned bool) *Sink { return &Sink{w: w, owned: owned} }

// Written is how many bytes were written so far.
func (s *Sink) Written() int64 { return s.written.Load() }

// WriteAll writes all of p or returns an error. After an error nothing more is written.
func (s *Sink) WriteAll(p []byte) error {
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

// Stop ends all later writes, and closes what is owned.
func (s *Sink) Stop() {
	s.stopped.Store(true)
	if c, ok := s.w.(io.Closer); ok && s.owned {
		s.once.Do(func() { c.Close() })
	}
}

// Close stops the sink.
func (s *Sink) Close() { s.Stop() }
