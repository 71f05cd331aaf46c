package jsonrpc

import (
	"bytes"
	"errors"
	"io"
)

// LineLimit is the longest line that is relayed, and the most that a listing by the guard may have.
const LineLimit = 64 << 20 // bytes

// ErrLong says that a line is beyond the limit, and was skipped.
var ErrLong = errors.New("line too long")

// ErrReturn says that a line would be cut in two by other readers.
var ErrReturn = errors.New("a carriage return within a line")

// HasStrayReturn reports whether line holds a carriage return anywhere but directly before its line feed.
// To JSON it is white space, but many readers end a line there: such a reader could take for a message
// what to the guard is a part of another one.
//
// Readers that also end lines at U+2028, U+2029 or U+0085 need no such care. JSON has these only within
// strings. A piece between two of them begins and ends within a string, so if it is read by itself its
// strings are what the line has between strings. That always holds a comma or a colon, and no letters but
// those of true, false, null and numbers, so it spells none of the names that make a JSON-RPC message.
// Other control characters are valid nowhere.
func HasStrayReturn(line []byte) bool {
	i := bytes.IndexByte(line, '\r')
	return i >= 0 && (i != len(line)-2 || line[i+1] != '\n')
}

// Lines cuts a stream into lines. A line includes its line feed, which only the last one may lack.
type Lines struct {
	Tail []byte // the end of the last line over the limit

	r      io.Reader
	limit  int
	buf    []byte
	lo, hi int // unread bytes are buf[lo:hi]
	seen   int // no line feed in buf[lo:seen]
	err    error
}

const (
	firstBuffer = 64 << 10
	maxTail     = 2 << 10
)

// NewLines reads lines from r. Lines over limit bytes are skipped.
func NewLines(r io.Reader, limit int) *Lines {
	return &Lines{r: r, limit: limit, buf: make([]byte, firstBuffer)}
}

// Buffered reports whether Next will return without reading, so that lines returned before stay in place.
func (l *Lines) Buffered() bool {
	return l.find() >= 0
}

// find is the index after the first line feed, or -1.
func (l *Lines) find() int {
	n := bytes.IndexByte(l.buf[l.seen:l.hi], '\n')
	if n < 0 {
		l.seen = l.hi
		return -1
	}
	l.seen += n // finds it again at once
	return l.seen + 1
}

// Next returns the next line, which is valid until a call of Next that reads. For a line over the limit it
// returns the beginning and ErrLong.
func (l *Lines) Next() ([]byte, error) {
	for {
		if end := l.find(); end >= 0 {
			line := l.buf[l.lo:end]
			l.lo, l.seen = end, end
			if len(line) > l.limit {
				l.Tail = nil
				l.keepTail(line)
				return line[:l.limit], ErrLong
			}
			return line, nil
		}
		if l.err != nil {
			line := l.buf[l.lo:l.hi]
			l.lo, l.seen = l.hi, l.hi
			if len(line) > 0 {
				return line, nil
			}
			return nil, l.err
		}
		if l.hi-l.lo > l.limit {
			head := bytes.Clone(l.buf[l.lo : l.lo+min(l.limit, firstBuffer)])
			l.Tail = nil
			l.skip()
			return head, ErrLong
		}
		l.fill()
	}
}

// fill reads once, making room before.
func (l *Lines) fill() {
	switch {
	case l.lo == l.hi:
		if len(l.buf) > 16*firstBuffer {
			l.buf = make([]byte, firstBuffer) // after a long line, free its memory
		}
		l.lo, l.hi, l.seen = 0, 0, 0
	case l.hi == len(l.buf) && l.lo >= len(l.buf)/2:
		l.seen -= l.lo
		l.hi = copy(l.buf, l.buf[l.lo:l.hi])
		l.lo = 0
	case l.hi == len(l.buf):
		bigger := make([]byte, min(2*len(l.buf), max(l.limit, firstBuffer)+2*firstBuffer))
		l.seen -= l.lo
		l.hi = copy(bigger, l.buf[l.lo:l.hi])
		l.lo, l.buf = 0, bigger
	}
	n, err := l.r.Read(l.buf[l.hi:])
	l.hi += n
	if err == nil && n == 0 {
		return
	}
	l.err = err
}

// keepTail adds part to the end of a line that is skipped.
func (l *Lines) keepTail(part []byte) {
	l.Tail = append(l.Tail, part[max(0, len(part)-maxTail):]...)
	l.Tail = l.Tail[max(0, len(l.Tail)-maxTail):]
}

// skip drops what is left of the line.
func (l *Lines) skip() {
	l.keepTail(l.buf[l.lo:l.hi])
	for l.err == nil {
		l.lo, l.hi, l.seen = 0, 0, 0
		l.fill()
		if end := l.find(); end >= 0 {
			l.keepTail(l.buf[:end])
			l.lo, l.seen = end, end
			return
		}
		l.keepTail(l.buf[:l.hi])
	}
	l.lo, l.hi, l.seen = 0, 0, 0
}
