package registry

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"
)

type listInput struct {
	Cursor       string `query:"cursor" maxLength:"2048" doc:"metadata.nextCursor of the page before"`
	Limit        int    `query:"limit" minimum:"1" maximum:"100" default:"30" doc:"Records in a page, at most"`
	Search       string `query:"search" doc:"Part of the name, at least 3 characters"`
	UpdatedSince string `query:"updated_since" doc:"RFC 3339 time; only records updated then or later"`
	Version      string `query:"version" doc:"latest, or an exact version"`
}

type pageOutput struct{ Body Page }

type envelopeOutput struct{ Body Envelope }

// minSearch is the least length of a search, in characters.
const minSearch = 3

// maxText is the greatest length of a search, name or version that is looked up.
const maxText = 1024

func (s *server) list(ctx context.Context, in *listInput) (*pageOutput, error) {
	q := Query{Search: strings.TrimSpace(in.Search), Version: in.Version, Limit: in.Limit, Cursor: in.Cursor}
	if in.Search != "" && utf8.RuneCountInString(q.Search) < minSearch {
		return nil, problem(http.StatusUnprocessableEntity, "search needs at least %d characters", minSearch)
	}
	if len(q.Search) > maxText || len(q.Version) > maxText {
		return nil, problem(http.StatusUnprocessableEntity, "search or version is longer than %d bytes", maxText)
	}
	if in.UpdatedSince != "" {
		var err error
		if q.UpdatedSince, err = time.Parse(time.RFC3339, in.UpdatedSince); err != nil {
			return nil, problem(http.StatusBadRequest, "updated_since is not an RFC 3339 time, such as 2026-01-31T12:00:00Z")
		}
	}
	records, next, err := s.Records.List(ctx, q)
	if err != nil {
		return nil, err
	}
	return &pageOutput{page(records, next)}, nil
}

type versionsInput struct {
	Name   string `path:"name" doc:"URL-encoded name"`
	Cursor string `query:"cursor" maxLength:"2048" doc:"metadata.nextCursor of the page before"`
}

func (s *server) versions(ctx context.Context, in *versionsInput) (*pageOutput, error) {
	records, next, err := s.Records.Versions(ctx, in.Name, in.Cursor)
	if errors.Is(err, ErrNotFound) {
		return nil, problem(http.StatusNotFound, "server %+.200q not found", in.Name)
	}
	if err != nil {
		return nil, err
	}
	return &pageOutput{page(records, next)}, nil
}

type versionInput struct {
	Name    string `path:"name" doc:"URL-encoded name"`
	Version string `path:"version" doc:"URL-encoded version, or latest"`
}

func (s *server) get(ctx context.Context, in *versionInput) (*envelopeOutput, error) {
	rec, err := s.Records.Get(ctx, in.Name, in.Version)
	if errors.Is(err, ErrNotFound) {
		return nil, problem(http.StatusNotFound, "version %+.200q of server %+.200q not found", in.Version, in.Name)
	}
	if err != nil {
		return nil, err
	}
	return &envelopeOutput{envelope(rec)}, nil
}

// edit refuses what the official registry lets its administrators do.
func (s *server) edit(context.Context, *versionInput) (*envelopeOutput, error) {
	return nil, problem(http.StatusMethodNotAllowed, "records do not change; publish a new version")
}
