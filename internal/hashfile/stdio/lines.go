package stdio

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// Parts of a line over the limit that are kept, in bytes, to find out what it was.
const (
	keptHead = 4 << 10
	keptTail = 1 << 10
)

// lines cuts a stream into lines.
type lines struct {
	r     *bufio.Reader
	limit int // bytes of a line, without its end
	begun bool
}

func newLines(r io.Reader, limit int) *lines {
	return &lines{r: bufio.NewReaderSize(r, 64<<10), limit: limit}
}

// excess is what is known of a line over the limit: its beginning and its end.
type excess struct{ head, tail []byte }

// next returns the next line without its end, which the last one may lack. A line over the limit is skipped, and
// returned as excess. The line belongs to the caller.
func (l *lines) next() (line []byte, over *excess, err error) {
	for {
		piece, err := l.r.ReadSlice('\n')
		if !l.begun && len(piece) > 0 {
			l.begun = true
			piece = bytes.TrimPrefix(piece, []byte("\ufeff"))
		}
		whole := err == nil
		if whole {
			piece = piece[:len(piece)-1]
		}
		switch {
		case over != nil:
			over.extend(piece)
		case len(line)+len(piece) > l.limit:
			over = &excess{head: append([]byte{}, line[:min(len(line), keptHead)]...)}
			over.head = append(over.head, piece[:min(len(piece), keptHead-len(over.head))]...)
			over.extend(line)
			over.extend(piece)
			line = nil
		default:
			line = append(line, piece...)
		}
		switch {
		case whole:
			return line, over, nil
		case errors.Is(err, bufio.ErrBufferFull):
		case err == io.EOF && (len(line) > 0 || over != nil):
			return line, over, nil
		default:
			return nil, nil, err
		}
	}
}

// extend keeps the end of what came so far.
func (e *excess) extend(piece []byte) {
	e.tail = append(e.tail, piece[max(0, len(piece)-keptTail):]...)
	e.tail = append(e.tail[:0], e.tail[max(0, len(e.tail)-keptTail):]...)
}
