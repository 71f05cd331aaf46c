package stdio

import (
	"errors"
	"io"
	"sync"
)

// output writes messages, one at a time and each on a line.
type output struct {
	raw io.WriteCloser
	mu  sync.Mutex
	w   io.Writer // writes to raw; each message in one write
}

func newOutput(raw io.WriteCloser, through func(io.WriteCloser) io.WriteCloser) *output {
	o := &output{raw: raw, w: raw}
	if through != nil {
		o.w = through(raw)
	}
	return o
}

func (o *output) writeLine(message []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, err := o.w.Write(append(message, '\n'))
	return err
}

// close closes the output, also while something is written to it, and in.
func (o *output) close(in io.Closer) error { return errors.Join(in.Close(), o.raw.Close()) }
