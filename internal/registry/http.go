package registry

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"runtime/debug"
	"strings"
	"time"
)

// databaseRetry is when a request may try again whose answer the database was away for.
const databaseRetry = 5 * time.Second

// Limits of a connection.
const (
	headerTimeout = 10 * time.Second
	bodyTimeout   = 30 * time.Second
	writeTimeout  = 60 * time.Second // a publish has its own, as it fetches packages
	idleTimeout   = 2 * time.Minute
	maxHeader     = 64 << 10 // bytes, request line included
)

// NewServer returns a server for h on addr that does not wait for slow clients.
func NewServer(addr string, h http.Handler) *http.Server {
	return &http.Server{
		Addr:              addr,
		Handler:           h,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       bodyTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
	}
}

// frame is what every request passes before the routes: it gets an id and a line in
// the log, panics become a 500, and requests that no route should see are answered.
func (s *server) frame(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := rand.Text()
		from := s.Limits.client(r)
		ctx := context.WithValue(context.WithValue(r.Context(), loggerKey{}, &requestLog{s.Logger, id}), addressKey{}, from)
		routed := r.WithContext(ctx) // the mux notes in it which route it took
		out := &response{ResponseWriter: w}
		began := time.Now()

		h := out.Header()
		h.Set("X-Request-Id", id)
		h.Set("X-Content-Type-Options", "nosniff")
		defer func() {
			if p := recover(); p != nil {
				if p == http.ErrAbortHandler {
					panic(p)
				}
				logger(ctx).Error("panic", "value", p, "stack", string(debug.Stack()))
				if out.status == 0 {
					writeProblem(out, problem(http.StatusInternalServerError, "internal error; request %s", id))
				}
			}
			s.metrics.answered(routed, out.status, time.Since(began))
			level := slog.LevelInfo
			if out.status < 400 {
				level = slog.LevelDebug // thousands a second; a publish has a line of its own
			}
			if s.Logger.Enabled(ctx, level) {
				logger(ctx).Log(ctx, level, "request", "method", r.Method, "path", r.URL.EscapedPath(), "status", out.status,
					"bytes", out.bytes, "duration", time.Since(began), "remote", r.RemoteAddr)
			}
		}()
		if wait := s.requests.take(from, began); wait > 0 {
			s.Counters.Limited.Add(1)
			writeProblem(out, slowDown(wait, "from this address"))
			return
		}
		if !before(out, r) {
			next.ServeHTTP(out, routed)
		}
	})
}

// before answers what no route should see, and reports whether it did.
func before(w http.ResponseWriter, r *http.Request) bool {
	if hasNUL(r.URL) {
		writeProblem(w, problem(http.StatusBadRequest, "the URL has a NUL byte"))
		return true
	}
	// Anybody's page may use the API, as that of the official registry. What a page
	// must not do without a token, the operations themselves refuse it.
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", "*")
	if r.Method == http.MethodOptions {
		h.Set("Access-Control-Allow-Methods", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS")
		h.Set("Access-Control-Allow-Headers", "*, Authorization") // which the star does not cover
		h.Set("Access-Control-Max-Age", "86400")
		w.WriteHeader(http.StatusNoContent)
		return true
	}
	h.Set("Access-Control-Expose-Headers", "Content-Type, Content-Length, Retry-After, X-Request-Id")
	if path := r.URL.EscapedPath(); len(path) > 1 && strings.HasSuffix(path, "/") {
		// One slash at the start: two would name another host.
		to := url.URL{RawQuery: r.URL.RawQuery}
		w.Header().Set("Location", "/"+strings.Trim(path, "/")+to.String())
		w.WriteHeader(http.StatusPermanentRedirect)
		return true
	}
	return false
}

func hasNUL(u *url.URL) bool {
	query, err := url.QueryUnescape(u.RawQuery)
	return strings.Contains(u.Path, "\x00") || err == nil && strings.Contains(query, "\x00")
}

// unrouted answers what no route matches, by trying the other methods on the path.
func unrouted(mux *http.ServeMux) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var allow []string
		for _, m := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
			other := r.Clone(r.Context())
			other.Method = m
			if _, pattern := mux.Handler(other); pattern != "/" {
				allow = append(allow, m)
			}
		}
		if len(allow) == 0 {
			writeProblem(w, problem(http.StatusNotFound, "no such path"))
			return
		}
		w.Header().Set("Allow", strings.Join(allow, ", "))
		writeProblem(w, problem(http.StatusMethodNotAllowed, "the path does not take this method"))
	}
}

// writeProblem answers p outside of the routes.
func writeProblem(w http.ResponseWriter, p *Problem) {
	h := w.Header()
	for k, v := range p.GetHeaders() {
		h[k] = v
	}
	h.Set("Content-Type", problemType)
	w.WriteHeader(p.Status)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.Encode(p) // an error here is the client's connection
}

// writeJSON answers v outside of the routes.
func writeJSON(w http.ResponseWriter, status int, v any) error {
	body := new(bytes.Buffer)
	enc := json.NewEncoder(body)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(body.Bytes()) // an error here is the client's connection
	return nil
}

// failure makes of any error what a client may know of it; the rest is logged.
func (s *server) failure(ctx context.Context, err error) error {
	var p *Problem
	switch {
	case errors.As(err, &p):
		return p
	case errors.Is(err, ErrCursor):
		return problem(http.StatusBadRequest, "%s", err)
	case errors.Is(err, ErrUnavailable) || noRoom(err):
		logger(ctx).Error("unavailable", "error", err)
		p := problem(http.StatusServiceUnavailable, "what the registry keeps is out of reach; try again")
		p.RetryAfter = databaseRetry
		return p
	case ctx.Err() != nil:
		return problem(statusClientGone, "the request was cancelled")
	}
	logger(ctx).Error("internal error", "error", err)
	return problem(http.StatusInternalServerError, "internal error")
}

type loggerKey struct{}

// requestLog is the logger of one request, which is made if there is something to log.
type requestLog struct {
	*slog.Logger
	id string
}

// logger is the request's, which adds its id.
func logger(ctx context.Context) *slog.Logger {
	if l, ok := ctx.Value(loggerKey{}).(*requestLog); ok {
		return l.With("request", l.id)
	}
	return slog.New(slog.DiscardHandler)
}

// response notes what was answered.
type response struct {
	http.ResponseWriter
	status int // 0 until the header is written
	bytes  int64
}

func (r *response) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *response) Write(p []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	n, err := r.ResponseWriter.Write(p)
	r.bytes += int64(n)
	return n, err
}

// Unwrap lets http.ResponseController reach deadlines.
func (r *response) Unwrap() http.ResponseWriter { return r.ResponseWriter }
