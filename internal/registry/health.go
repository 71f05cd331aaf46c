package registry

import (
	"context"
	"net/http"
	"time"
)

type pingOutput struct {
	Body struct {
		Pong bool `json:"pong"`
	}
}

func (s *server) ping(context.Context, *struct{}) (*pingOutput, error) {
	out := new(pingOutput)
	out.Body.Pong = true
	return out, nil
}

// About is what a registry says of itself. FileHashes is empty if it does not know
// file_hashes; then it refuses documents that have the member.
type About struct {
	Version    string     `json:"version"`
	Commit     string     `json:"git_commit"`
	Built      string     `json:"build_time"`
	FileHashes Validation `json:"file_hashes,omitempty" enum:"off,observe,enforce"`
	LogKey     string     `json:"log_key,omitempty" doc:"Verifier key of the registry's log, for who asks for it the first time"`
}

type versionOutput struct{ Body About }

func (s *server) version(context.Context, *struct{}) (*versionOutput, error) {
	about := About{Version: s.Version, Commit: s.Commit, Built: s.Built, FileHashes: s.policy().Validation}
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

func (s *server) health(ctx context.Context, _ *struct{}) (*healthOutput, error) {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	sick := func(what string, err error) (*healthOutput, error) {
		logger(ctx).Error("unhealthy", "error", err)
		p := problem(http.StatusServiceUnavailable, "%s cannot be read", what)
		p.RetryAfter = databaseRetry
		return nil, p
	}
	if _, _, err := s.Records.List(ctx, Query{Limit: 1}); err != nil {
		return sick("records", err)
	}
	if s.Blobs != nil {
		if err := s.Blobs.Check(ctx); err != nil {
			return sick("blobs", err)
		}
	}
	if s.Log != nil {
		if err := s.Log.Err(); err != nil {
			logger(ctx).Error("unhealthy", "error", err)
			p := problem(http.StatusServiceUnavailable, "the log is not signed: %s", logReason(err))
			p.RetryAfter = databaseRetry
			return nil, p
		}
	}
	out := new(healthOutput)
	out.Body.Status, out.Body.GitHubClient = "ok", s.GitHubClient
	return out, nil
}
