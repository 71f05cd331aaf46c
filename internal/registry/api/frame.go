package api

import (
	"cmp"
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"net/url"
	"runtime/debug"
	"strings"
	"time"

	"github.com/hallmark-mcp/hallmark/internal/registry"
)

// frame is what every request passes before the routes: it gets an id and a line in
// the log, panics become a 500, and requests that no route should see are answered.
func (s *Server) frame(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := rand.Text()
		from := s.Limits.client(r)
		ctx := context.WithValue(context.WithValue(r.Context(), loggerKey{}, &requestLog{s.Logger, id}), addressKey{},
			from)
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
				Logger(ctx).Error("panic", "value", p, "stack", string(debug.Stack()))
				if out.status == 0 {
					WriteProblem(out, internalError(ctx))
				}
			}
			s.metrics.countAnswer(routed, out.status, time.Since(began))
			level := slog.LevelInfo
			if out.status < 400 {
				level = slog.LevelDebug // thousands a second; a publish has a line of its own
			}
			if s.Logger.Enabled(ctx, level) {
				Logger(ctx).Log(ctx, level, "request", "method", r.Method, "path", r.URL.EscapedPath(), "status",
					out.status, "bytes", out.bytes, "duration", time.Since(began), "remote", cmp.Or(from, r.RemoteAddr))
			}
		}()
		if wait := s.requests.take(from, began); wait > 0 {
			s.Counters.Limited.Add(1)
			WriteProblem(out, slowDown(wait, "from this address"))
			return
		}
		if !answerEarly(out, r) {
			next.ServeHTTP(out, routed)
		}
	})
}

// answerEarly answers requests that must not reach a route, and reports whether it did.
func answerEarly(w http.ResponseWriter, r *http.Request) bool {
	if hasNUL(r.URL) {
		WriteProblem(w, registry.NewProblem(http.StatusBadRequest, "the URL has a NUL byte"))
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

// answerUnrouted answers what no route matches, by trying the other methods on the path.
func answerUnrouted(mux *http.ServeMux) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var allow []string
		for _, m := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
			http.MethodDelete} {
			other := r.Clone(r.Context())
			other.Method = m
			if _, pattern := mux.Handler(other); pattern != "/" {
				allow = append(allow, m)
			}
		}
		if len(allow) == 0 {
			WriteProblem(w, registry.NewProblem(http.StatusNotFound, "no such path"))
			return
		}
		w.Header().Set("Allow", strings.Join(allow, ", "))
		WriteProblem(w, registry.NewProblem(http.StatusMethodNotAllowed, "the path does not take this method"))
	}
}

// response notes what was answered.
type response struct {
	http.ResponseWriter
	status int // 0 until the header is written
	bytes  int64
}

func (r *response) WriteHeader(status int) {
	r.status = cmp.Or(r.status, status)
	r.ResponseWriter.WriteHeader(status)
}

func (r *response) Write(p []byte) (int, error) {
	r.status = cmp.Or(r.status, http.StatusOK)
	n, err := r.ResponseWriter.Write(p)
	r.bytes += int64(n)
	return n, err
}

// Unwrap lets http.ResponseController reach deadlines.
func (r *response) Unwrap() http.ResponseWriter { return r.ResponseWriter }
