package stdio

import (
	"bytes"
	"io"
)

// batch collects the answers to an array of requests, which are written together.
type batch struct {
	left    int // requests that are not answered, and one until the whole array was read
	size    int
	answers [][]byte
}

// add adds an answer, or nothing for a request that is not answered. It returns the message with all answers after the
// last one, or nil.
func (b *batch) add(answer []byte) []byte {
	if len(answer) > 0 {
		b.answers = append(b.answers, answer)
		b.size += len(answer)
	}
	if b.left--; b.left > 0 || len(b.answers) == 0 {
		return nil
	}
	return append(append([]byte{'['}, bytes.Join(b.answers, []byte{','})...), ']')
}

// buffer is a writer into memory.
type buffer struct{ bytes.Buffer }

func (*buffer) Close() error { return nil }

// encode returns a message as it is written.
func encode(through func(io.WriteCloser) io.WriteCloser, message []byte) ([]byte, error) {
	if through == nil {
		return message, nil
	}
	var b buffer
	_, err := through(&b).Write(message)
	return b.Bytes(), err
}
