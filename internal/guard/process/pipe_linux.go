package process

import (
	"errors"
	"io"
	"os"
	"strconv"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Reads and writes are plain blocking system calls here: the runtime's poller costs several
// microseconds a message, as much as the relay itself. Closing the descriptor would not end a
// blocked call. A pipe whose open file no other process has is read with read(2), which Stop
// ends as interrupt_linux.go says; everything else waits in poll(2), for its descriptor and for
// an eventfd that Stop makes readable.

var errStopped = errors.New("stopped")

// linger is how long a stopped Source goes on waiting for bytes that are on their way: children
// of a process that ended may still hold its pipe, so that its end is never seen.
const linger = 100 // milliseconds

// Source is the end of a stream that is read.
type Source struct {
	r       io.Reader // used if fd is negative
	file    *os.File  // keeps fd open
	fd      int
	wake    int        // eventfd, or -1
	waking  sync.Mutex // held to write or close wake
	stopped atomic.Bool
	owned   bool
	direct  *interrupt // how stop ends a read(2) that waits; nil: reads wait in poll(2)
	linger  int
	left    int // bytes that may still be read once it is stopped; -1: not stopped yet
}

// newSource reads r. A file that is owned is closed by close and lingers when it
// is stopped. A pipe that is not owned, such as standard input, is opened anew if it
// can be, as newSink does. A reader that is no file cannot be stopped.
func NewSource(r io.Reader, owned bool) *Source {
	s := &Source{r: r, fd: -1, wake: -1, owned: owned, left: -1}
	file, ok := r.(*os.File)
	if !ok {
		return s
	}
	wake, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return s
	}
	s.file, s.fd, s.wake = file, int(file.Fd()), wake
	if owned {
		s.linger = linger
	}
	if !isPipe(s.fd) {
		return s
	}
	if !owned {
		again := openAgain(s.fd)
		if again == nil {
			return s
		}
		s.file, s.fd, s.owned = again, int(again.Fd()), true
	}
	s.direct = newInterrupt(s.fd)
	return s
}

func isPipe(fd int) bool {
	var st unix.Stat_t
	return unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFIFO
}

// openAgain opens the pipe that fd reads once more, so that changing its mode affects nobody else.
// It is nil if that is not allowed.
func openAgain(fd int) *os.File {
	// Without O_NONBLOCK a named pipe would wait for a writer.
	again, err := unix.Open("/proc/self/fd/"+strconv.Itoa(fd), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	if err := unix.SetNonblock(again, false); err != nil {
		unix.Close(again)
		return nil
	}
	return os.NewFile(uintptr(again), "pipe") // blocking, so that the runtime's poller leaves it alone
}

// CanStop reports whether Stop ends a Read that waits.
func (s *Source) CanStop() bool { return s.fd >= 0 }

// Read is for one goroutine. It ends with io.EOF also when the source is stopped.
func (s *Source) Read(p []byte) (int, error) {
	if s.fd < 0 {
		if s.stopped.Load() {
			return 0, io.EOF
		}
		return s.r.Read(p)
	}
	var fds [2]unix.PollFd
	for {
		if s.direct != nil && s.direct.begin() {
			n, err := unix.Read(s.fd, p)
			s.direct.end()
			switch {
			case n > 0:
				return n, nil
			case err == nil:
				return 0, io.EOF
			case err != unix.EINTR && err != unix.EAGAIN:
				return 0, err
			}
		}
		fds[0] = unix.PollFd{Fd: int32(s.fd), Events: unix.POLLIN}
		fds[1] = unix.PollFd{Fd: int32(s.wake), Events: unix.POLLIN}
		list, timeout := fds[:], -1
		if s.stopped.Load() {
			if s.left < 0 {
				s.left = pipeSize(s.fd)
			}
			if s.left == 0 {
				return 0, io.EOF // what comes now was written after the stop
			}
			list, timeout, p = fds[:1], s.linger, p[:min(len(p), s.left)]
		}
		n, err := unix.Poll(list, timeout)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return 0, err
		case n == 0:
			return 0, io.EOF // stopped, and nothing more came
		case fds[0].Revents == 0:
			continue // stopped just now
		}
		n, err = unix.Read(s.fd, p)
		switch {
		case err == unix.EINTR || err == unix.EAGAIN:
			continue
		case err != nil:
			return 0, err
		case n == 0:
			return 0, io.EOF
		}
		if s.left > 0 {
			s.left -= n
		}
		return n, nil
	}
}

// pipeSize is the number of bytes that a pipe can hold.
func pipeSize(fd int) int {
	n, err := unix.FcntlInt(uintptr(fd), unix.F_GETPIPE_SZ, 0)
	if err != nil {
		return 1 << 20
	}
	return n
}

// Stop ends the stream once nothing more arrives for the time of linger.
func (s *Source) Stop() {
	s.waking.Lock()
	defer s.waking.Unlock()
	if !s.stopped.Swap(true) && s.wake >= 0 {
		unix.Write(s.wake, []byte{1, 0, 0, 0, 0, 0, 0, 0})
		if s.direct != nil {
			s.direct.stop()
		}
	}
}

// Close releases what belongs to the source. No Read may be waiting.
func (s *Source) Close() {
	s.Stop()
	s.waking.Lock()
	defer s.waking.Unlock()
	if s.wake >= 0 {
		unix.Close(s.wake)
		s.wake = -1
	}
	if s.owned && s.file != nil {
		s.file.Close()
	}
}

// Sink is the end of a stream that is written.
type Sink struct {
	w       io.Writer // used if fd is negative
	file    *os.File  // keeps fd open
	wake    int
	waking  sync.Mutex // held to write or close wake
	stopped atomic.Bool

	written atomic.Int64 // bytes, at last count

	mu    sync.Mutex // one write at a time
	fd    int
	owned bool
	err   error // of the first write that was not complete; none follows it
}

// newSink writes to w. A file that is owned is closed by close. A pipe that is
// not owned, such as standard output, is opened anew, because its descriptor's
// mode is shared with other processes.
func NewSink(w io.Writer, owned bool) *Sink {
	s := &Sink{w: w, fd: -1, wake: -1, owned: owned}
	file, ok := w.(*os.File)
	if !ok {
		return s
	}
	fd := int(file.Fd())
	if !owned {
		if !isPipe(fd) {
			return s
		}
		again, err := os.OpenFile("/proc/self/fd/"+strconv.Itoa(fd), os.O_WRONLY|unix.O_NONBLOCK, 0)
		if err != nil {
			return s
		}
		file, fd = again, int(again.Fd())
		s.owned = true
	}
	wake, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err == nil {
		err = unix.SetNonblock(fd, true)
	}
	if err != nil {
		return s
	}
	s.file, s.fd, s.wake = file, fd, wake
	return s
}

// WriteAll writes all of p or returns an error. After an error nothing more is written.
func (s *Sink) WriteAll(p []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = s.writeAll(p)
	}
	return s.err
}

func (s *Sink) writeAll(p []byte) error {
	if s.fd < 0 {
		if s.stopped.Load() {
			return errStopped
		}
		n, err := s.w.Write(p)
		s.written.Add(int64(n))
		return err
	}
	for len(p) > 0 {
		n, err := unix.Write(s.fd, p)
		switch {
		case err == nil:
			p = p[n:]
			s.written.Add(int64(n))
		case err == unix.EINTR:
		case err == unix.EAGAIN:
			fds := []unix.PollFd{{Fd: int32(s.fd), Events: unix.POLLOUT}, {Fd: int32(s.wake), Events: unix.POLLIN}}
			if _, err := unix.Poll(fds, -1); err != nil && err != unix.EINTR {
				return err
			}
			if s.stopped.Load() {
				return errStopped
			}
		default:
			return err
		}
	}
	return nil
}

// Written is how many bytes were written so far.
func (s *Sink) Written() int64 { return s.written.Load() }

// Stop ends a write that waits, and all later ones.
func (s *Sink) Stop() {
	s.waking.Lock()
	defer s.waking.Unlock()
	if !s.stopped.Swap(true) && s.wake >= 0 {
		unix.Write(s.wake, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	}
}

// Close stops the sink and releases what belongs to it.
func (s *Sink) Close() {
	s.Stop()
	if s.fd < 0 && !s.owned {
		return // a write to w may wait for ever
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = errStopped
	}
	s.waking.Lock()
	defer s.waking.Unlock()
	if s.wake >= 0 {
		unix.Close(s.wake)
		s.wake = -1
	}
	if s.owned && s.file != nil {
		s.file.Close()
		s.file, s.fd = nil, -1
	}
}
