package host

import "io"

// ProgressReader tells how much was read.
type ProgressReader struct {
	Body        io.Reader
	What        string
	done, Total int64
	Tell        func(what string, done, total int64)
}

func (w *ProgressReader) Read(p []byte) (int, error) {
	n, err := w.Body.Read(p)
	if w.done += int64(n); w.Tell != nil {
		w.Tell(w.What, w.done, w.Total)
	}
	return n, err
}
