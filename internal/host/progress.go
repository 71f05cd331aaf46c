package host

import "io"

// ProgressReader reads Body, and reports after each read how much was read so far.
type ProgressReader struct {
	Body  io.Reader
	What  string                               // named in each report
	Total int64                                // expected bytes
	Tell  func(what string, done, total int64) // may be nil

	done int64
}

// Read reads from Body and reports the progress.
func (r *ProgressReader) Read(p []byte) (int, error) {
	n, err := r.Body.Read(p)
	if r.done += int64(n); r.Tell != nil {
		r.Tell(r.What, r.done, r.Total)
	}
	return n, err
}
