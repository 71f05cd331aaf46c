package process

import (
	"bufio"
	"io"
)

// eventStream reads a stream of events with a line feed at the end of each line. As sent, a line ends with
// CR, LF or CR LF, and the stream may begin with a byte order mark (HTML standard, "Interpreting an event
// stream").
type eventStream struct {
	r     *bufio.Reader
	begun bool
	cr    bool // the last byte was a carriage return
}

func newEventStream(r io.Reader) *eventStream { return &eventStream{r: bufio.NewReader(r)} }

const byteOrderMark = "\ufeff"

// Read waits for one byte at most once the stream has begun: what ends with a carriage return is a line,
// whether a line feed follows or not.
func (s *eventStream) Read(p []byte) (int, error) {
	if !s.begun {
		if first, err := s.r.Peek(1); err == nil && first[0] == byteOrderMark[0] {
			if mark, _ := s.r.Peek(len(byteOrderMark)); string(mark) == byteOrderMark {
				s.r.Discard(len(byteOrderMark))
			}
		}
		s.begun = true
	}
	for {
		n, err := s.r.Read(p)
		out := p[:0] // in place: it is never longer than what was read
		for _, c := range p[:n] {
			switch {
			case c == '\r':
				out = append(out, '\n')
			case c != '\n' || !s.cr:
				out = append(out, c)
			}
			s.cr = c == '\r'
		}
		if len(out) > 0 || err != nil || len(p) == 0 {
			return len(out), err
		}
	}
}
