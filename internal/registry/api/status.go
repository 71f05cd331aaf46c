package api

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/registry"
)

type statusInput struct {
	Authorization string `header:"Authorization" doc:"Bearer TOKEN"`
	Name          string `path:"name" doc:"URL-encoded name"`
	Version       string `path:"version" doc:"URL-encoded version"`
	Body          registry.StatusBody
}

type allStatusInput struct {
	Authorization string `header:"Authorization" doc:"Bearer TOKEN"`
	Name          string `path:"name" doc:"URL-encoded name"`
	Body          registry.StatusBody
}

type updatedOutput struct{ Body registry.Updated }

func (s *Server) setStatus(ctx context.Context, in *statusInput) (*envelopeOutput, error) {
	if in.Version == registry.Latest {
		return nil, registry.NewProblem(http.StatusNotFound,
			"name a version: which one is the latest may change meanwhile")
	}
	_, records, err := s.change(ctx, in.Authorization, in.Name, in.Version, in.Body)
	if err != nil {
		return nil, err
	}
	return &envelopeOutput{registry.NewEnvelope(records[0])}, nil
}

func (s *Server) setAllStatuses(ctx context.Context, in *allStatusInput) (*updatedOutput, error) {
	n, records, err := s.change(ctx, in.Authorization, in.Name, "", in.Body)
	if err != nil {
		return nil, err
	}
	return &updatedOutput{registry.Updated{UpdatedCount: n, Servers: registry.NewPage(records, "").Servers}}, nil
}

func (s *Server) change(
	ctx context.Context, authorization, name, version string, body registry.StatusBody,
) (int, []registry.Record, error) {
	c, grant, err := s.judgeChange(ctx, authorization, func(g registry.Grant) bool {
		return g.Allows(registry.ActionPublish, name) || g.Allows(registry.ActionEdit, name)
	},
		func(g registry.Grant) *registry.Problem { return forbidden(g, name) }, body)
	if err != nil {
		return 0, nil, err
	}
	n, records, err := s.Statuses.SetStatus(ctx, name, version, c)
	return n, records, s.reportChange(ctx, statusChange{"server", name, version, c, grant}, n, err)
}

// judgeChange returns the change that a request asks for, if its bearer is allowed to make it.
func (s *Server) judgeChange(
	ctx context.Context, authorization string, allowed func(registry.Grant) bool,
	refused func(registry.Grant) *registry.Problem, body registry.StatusBody,
) (registry.Change, registry.Grant, error) {
	if err := s.checkWritable(); err != nil {
		return registry.Change{}, registry.Grant{}, err
	}
	grant, err := s.bearer(ctx, authorization)
	if err == nil && !allowed(grant) {
		err = refused(grant)
	}
	if err != nil {
		s.Counters.Unauthorized.Add(1)
		return registry.Change{}, registry.Grant{}, err
	}
	c := registry.Change{Status: body.Status, At: s.Now(), By: actor(&grant)}
	if body.Message != nil {
		if c.Message = *body.Message; body.Status == registry.Active {
			return registry.Change{}, registry.Grant{},
				registry.NewProblem(http.StatusBadRequest, "a message does not go with the status active")
		}
		if strings.Contains(c.Message, "\x00") { // no database has to keep it
			return registry.Change{}, registry.Grant{},
				registry.NewProblem(http.StatusUnprocessableEntity, "the message holds a NUL byte")
		}
	}
	return c, grant, nil
}

// statusChange is a change of the status of one version, or with version "" of all.
type statusChange struct {
	kind, name, version string
	registry.Change
	grant registry.Grant // of who asked for it
}

// reportChange counts and logs the n records that c changed, or says what the error was.
func (s *Server) reportChange(ctx context.Context, c statusChange, n int, err error) error {
	switch {
	case errors.Is(err, registry.ErrNotFound) && c.version == "":
		return registry.NewProblem(http.StatusNotFound, "%s %+.200q not found", c.kind, c.name)
	case errors.Is(err, registry.ErrNotFound):
		return registry.NewProblem(http.StatusNotFound, "version %+.200q of %s %+.200q not found",
			c.version, c.kind, c.name)
	case errors.Is(err, registry.ErrUnchanged):
		return registry.NewProblem(http.StatusBadRequest, "nothing to change: %s", err)
	case err != nil:
		return err
	}
	s.Counters.StatusChanges.Add(int64(n))
	Logger(ctx).Info("status", "kind", c.kind, "name", c.name, "version", c.version, "status", c.Status,
		"records", n, "by", c.grant.Method, "subject", c.grant.Subject)
	// Wait for the checkpoint: clients that verify both refuse a record whose status differs
	// from the log's.
	if s.Log != nil {
		if err := s.Log.CatchUp(ctx); err != nil { // the status stands all the same
			Logger(ctx).Error("not signed yet", "kind", c.kind, "name", c.name, "version", c.version, "error", err)
		}
	}
	return nil
}
