package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/hallmark-mcp/hallmark/internal/registry"
)

// Server is a registry, whose paths [Server.Mount] registers.
type Server struct {
	Config
	requests, logins, writes *limiter
	bodies                   *room
	turns                    *turns
	metrics                  *metrics
}

// New returns the registry that c describes; [Server.Mount] registers its paths.
func New(c Config) (*Server, error) {
	if c.CurrentPolicy == nil {
		p := Policy{Validation: c.Validation, RequireHashes: c.RequireHashes, AllowAnonymous: c.AllowAnonymous}
		c.CurrentPolicy = func() Policy { return p }
	}
	p := c.CurrentPolicy()
	if err := p.check(); err != nil {
		return nil, fmt.Errorf("registry: %w", err)
	}
	if c.Check == nil && p.Validation != registry.Off {
		return nil, fmt.Errorf("registry: validation %q needs a check", cmp.Or(p.Validation, registry.Enforce))
	}
	if c.Records == nil {
		return nil, errors.New("registry: no records")
	}
	if len(c.Logins) > 0 && (c.Issuer == nil || c.Outside.HTTP == nil || c.Outside.LookupTXT == nil) {
		return nil, errors.New("registry: logins need an issuer of tokens, HTTP and DNS")
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Timeout <= 0 {
		c.Timeout = registry.DefaultTimeout
	}
	if c.Counters == nil {
		c.Counters = new(Counters)
	}
	s := &Server{
		Config:   c,
		requests: newLimiter(c.Limits.Requests), logins: newLimiter(c.Limits.Logins),
		writes: newLimiter(c.Limits.Writes),
	}
	s.bodies = newRoom(c.Limits)
	s.turns = newTurns(c.Limits)
	s.metrics = newMetrics(c, s.turns)
	return s, nil
}

// Failure turns an error into the answer that a client may see, and logs the rest.
func (s *Server) Failure(ctx context.Context, err error) error {
	var p *registry.Problem
	switch {
	case errors.As(err, &p):
		return p
	case errors.Is(err, registry.ErrCursor):
		return registry.NewProblem(http.StatusBadRequest, "%s", err)
	case registry.NoRoom(err):
		Logger(ctx).Error("no room", "error", err, "hint", "make room on the disk; publishes go on by themselves then")
		return unavailable("this registry has no room left; its operator has to make some")
	case errors.Is(err, registry.ErrUnavailable):
		Logger(ctx).Error("unavailable", "error", err)
		return unavailable("what the registry keeps is out of reach; try again")
	case ctx.Err() != nil:
		return registry.NewProblem(registry.StatusClientGone, "the request was cancelled")
	}
	Logger(ctx).Error("internal error", "error", err)
	return internalError(ctx)
}

// internalError is the answer that says nothing of a fault but where its reason is.
func internalError(ctx context.Context) *registry.Problem {
	id := ""
	if l, ok := ctx.Value(loggerKey{}).(*requestLog); ok {
		id = l.id
	}
	return registry.NewProblem(http.StatusInternalServerError,
		"internal error; the log of the registry says why, under request=%s, which its operator can read", id)
}

// Handler is what every request passes before the routes of mux, and after them.
func (s *Server) Handler(mux *http.ServeMux) http.Handler {
	mux.HandleFunc("/", answerUnrouted(mux))
	return s.frame(mux)
}

// Policy returns the policy that holds now.
func (s *Server) Policy() Policy {
	p := s.CurrentPolicy()
	p.Validation = cmp.Or(p.Validation, registry.Enforce)
	if s.Check == nil {
		p.Validation = registry.Off // New refuses a missing Check unless validation is off
	}
	return p
}
