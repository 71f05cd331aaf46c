package npmtest

import (
	"crypto/tls"
	"net"
	"net/http"
	"strconv"
	"time"
)

// Fault answers a request in the place of the registry. data is what the registry
// would have sent, nil if it has no such thing.
type Fault func(w http.ResponseWriter, r *http.Request, data []byte)

// Always makes a fault last.
const Always = -1

type fault struct {
	answer Fault
	times  int // requests that it is still for, plus one while it counts; Always
}

// Break has the next times requests for path answered by f. Always is for all; 0 times,
// or a nil f, mends the path.
func (s *Server) Break(path string, times int, f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f == nil || times == 0 {
		delete(s.faults, path)
		return
	}
	if times > 0 {
		times++ // ServeHTTP counts down before it looks
	}
	s.faults[path] = fault{f, times}
}

// Reset sends the first n bytes and then resets the connection. A resumable reply has
// an ETag, and ranges are served; otherwise every reply begins at the first byte.
func Reset(n int, resumable bool) Fault {
	return func(w http.ResponseWriter, r *http.Request, data []byte) {
		if !resumable {
			r.Header.Del("Range")
			w = dropETag{w}
		}
		whole(&cut{ResponseWriter: w, left: n}, r, data)
		reset(w)
	}
}

// cut passes on so many bytes of a body and drops the rest.
type cut struct {
	http.ResponseWriter
	left int
}

func (c *cut) Write(p []byte) (int, error) {
	n := min(len(p), c.left)
	c.left -= n
	if _, err := c.ResponseWriter.Write(p[:n]); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (c *cut) Unwrap() http.ResponseWriter { return c.ResponseWriter }

type dropETag struct{ http.ResponseWriter }

func (d dropETag) WriteHeader(status int) {
	d.Header().Del("ETag")
	d.Header().Del("Accept-Ranges")
	d.ResponseWriter.WriteHeader(status)
}

func (d dropETag) Unwrap() http.ResponseWriter { return d.ResponseWriter }

// reset breaks the connection of w without a proper end, after what was written had
// time to be read. What was not read by then is lost to the reader.
func reset(w http.ResponseWriter) {
	c := http.NewResponseController(w)
	if c.Flush() != nil {
		panic(http.ErrAbortHandler)
	}
	time.Sleep(100 * time.Millisecond)
	conn, _, err := c.Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if secure, ok := conn.(*tls.Conn); ok {
		if plain, ok := secure.NetConn().(*net.TCPConn); ok {
			plain.SetLinger(0)
			plain.Close()
			return
		}
	}
	conn.Close()
}

// TooLong announces extra bytes more than there are.
func TooLong(extra int) Fault {
	return func(w http.ResponseWriter, _ *http.Request, data []byte) {
		w.Header().Set("Content-Length", strconv.Itoa(len(data)+extra))
		w.Write(data)
		http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

// Status answers with an error status. retryAfter is the header of that name, in
// seconds; none is sent if it is negative.
func Status(status, retryAfter int) Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ []byte) {
		if retryAfter >= 0 {
			w.Header().Set("Retry-After", strconv.Itoa(retryAfter))
		}
		http.Error(w, http.StatusText(status), status)
	}
}

// Answer answers with any status and body.
func Answer(status int, body []byte) Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ []byte) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(status)
		w.Write(body)
	}
}

// Redirect leads to another URL or path.
func Redirect(to string) Fault {
	return func(w http.ResponseWriter, r *http.Request, _ []byte) {
		http.Redirect(w, r, to, http.StatusFound)
	}
}

// Body sends other bytes.
func Body(data []byte) Fault {
	return func(w http.ResponseWriter, r *http.Request, _ []byte) { whole(w, r, data) }
}

// Slow sends chunk bytes and then pauses, again and again.
func Slow(chunk int, pause time.Duration) Fault {
	return func(w http.ResponseWriter, r *http.Request, data []byte) {
		w.Header().Set("Content-Length", strconv.Itoa(len(data)))
		for len(data) > 0 {
			n := min(chunk, len(data))
			if _, err := w.Write(data[:n]); err != nil {
				return
			}
			http.NewResponseController(w).Flush()
			data = data[n:]
			select {
			case <-r.Context().Done():
				return
			case <-time.After(pause):
			}
		}
	}
}
