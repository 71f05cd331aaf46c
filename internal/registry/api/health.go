package api

import (
	"context"
	"time"

	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/log"
)

type pingOutput struct {
	Body struct {
		Pong bool `json:"pong"`
	}
}

func (s *Server) ping(context.Context, *struct{}) (*pingOutput, error) {
	out := new(pingOutput)
	out.Body.Pong = true
	return out, nil
}

type versionOutput struct{ Body registry.About }

func (s *Server) version(context.Context, *struct{}) (*versionOutput, error) {
	about := registry.About{Version: s.Version, Commit: s.Commit, Built: s.Built, FileHashes: s.Policy().Validation}
	if s.Log != nil {
		about.LogKey = s.Log.Key()
	}
	return &versionOutput{about}, nil
}

type healthOutput struct {
	Body struct {
		Status       string `json:"status"`
		GitHubClient string `json:"github_client_id,omitempty" doc:"Of the OAuth application to log in to GitHub with"`
	}
}

// healthTimeout is how long what is asked may take to answer.
const healthTimeout = 5 * time.Second

func (s *Server) health(ctx context.Context, _ *struct{}) (*healthOutput, error) {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	sick := func(what string, err error) (*healthOutput, error) {
		Logger(ctx).Error("unhealthy", "error", err)
		return nil, unavailable("%s cannot be read", what)
	}
	if _, _, err := s.Records.List(ctx, registry.Query{Limit: 1}); err != nil {
		return sick("records", err)
	}
	if s.Blobs != nil {
		if err := s.Blobs.Check(ctx); err != nil {
			return sick("blobs", err)
		}
	}
	if s.Log != nil {
		if err := s.Log.Err(); err != nil {
			Logger(ctx).Error("unhealthy", "error", err)
			return nil, unavailable("the log is not signed: %s", log.Reason(err))
		}
	}
	out := new(healthOutput)
	out.Body.Status, out.Body.GitHubClient = "ok", s.GitHubClient
	return out, nil
}
