package api

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"time"

	"github.com/hallmark-mcp/hallmark/internal/registry"
)

// databaseRetry is the Retry-After of an answer that needs the database while that is unavailable.
const databaseRetry = 5 * time.Second

// unavailable is the answer to a request for which what it needs is not to be had now.
func unavailable(format string, args ...any) *registry.Problem {
	p := registry.NewProblem(http.StatusServiceUnavailable, format, args...)
	p.RetryAfter = databaseRetry
	return p
}

// WriteProblem answers p outside of the routes.
func WriteProblem(w http.ResponseWriter, p *registry.Problem) {
	h := w.Header()
	for k, v := range p.GetHeaders() {
		h[k] = v
	}
	h.Set("Content-Type", registry.ProblemType)
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

type loggerKey struct{}

// requestLog is the logger of one request, which is made if there is something to log.
type requestLog struct {
	*slog.Logger
	id string
}

// Logger returns the logger of the request that ctx belongs to, which adds the request's id.
func Logger(ctx context.Context) *slog.Logger {
	if l, ok := ctx.Value(loggerKey{}).(*requestLog); ok {
		return l.With("request", l.id)
	}
	return slog.New(slog.DiscardHandler)
}

// retryAfter is the Retry-After of a publish whose packages could not be reached.
const retryAfter = 30 * time.Second
