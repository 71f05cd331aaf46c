package registrytest

import (
	"io"
	"net/http"
	"net/url"
	"sync/atomic"
)

// HostileS3 stands before an S3 server and does to what passes what its mode says.
type HostileS3 struct {
	To   *url.URL
	Mode atomic.Value // string
	Did  atomic.Int64 // how often it did it
}

// ServeHTTP implements http.Handler. The host stays that of the proxy, which the
// signature covers.
func (h *HostileS3) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	mode, _ := h.Mode.Load().(string)
	if h.failBefore(mode, w, r) {
		return
	}
	out := r.Clone(r.Context())
	out.RequestURI, out.URL.Scheme, out.URL.Host = "", h.To.Scheme, h.To.Host
	answer, err := http.DefaultTransport.RoundTrip(out)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer answer.Body.Close()
	if mode == "lost" && r.Method == http.MethodPut && h.Did.Add(1) == 1 { // the answer, of what was done
		panic(http.ErrAbortHandler)
	}
	for name, values := range answer.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(answer.StatusCode)
	var body io.Reader = answer.Body
	part := r.Method == http.MethodGet && answer.StatusCode < 300 &&
		(mode == "truncate" || mode == "stall" || mode == "once")
	if part {
		h.Did.Add(1)
		body = io.LimitReader(answer.Body, answer.ContentLength/2)
	}
	io.Copy(w, body)
	if !part {
		return
	}
	w.(http.Flusher).Flush()
	switch mode {
	case "once":
		h.Mode.Store("")
	case "stall":
		<-r.Context().Done()
	}
	panic(http.ErrAbortHandler)
}

// failBefore reports whether a request is not passed on, and fails it then as the mode says.
func (h *HostileS3) failBefore(mode string, w http.ResponseWriter, r *http.Request) bool {
	switch {
	case mode == "500":
		h.Did.Add(1)
		w.WriteHeader(http.StatusInternalServerError)
	case mode == "silent":
		h.Did.Add(1)
		io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	case mode == "cut" && r.Method == http.MethodPut: // what is being put
		h.Did.Add(1)
		io.CopyN(io.Discard, r.Body, r.ContentLength/2)
		panic(http.ErrAbortHandler)
	default:
		return false
	}
	return true
}
