package api

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"github.com/hallmark-mcp/hallmark/internal/registry"
)

type listInput struct {
	Cursor       string       `query:"cursor" maxLength:"2048" doc:"metadata.nextCursor of the page before"`
	Limit        int          `query:"limit" minimum:"1" maximum:"100" default:"30" doc:"Records in a page, at most"`
	Search       string       `query:"search" doc:"Part of the name, at least 3 characters"`
	UpdatedSince string       `query:"updated_since" doc:"RFC 3339 time; only records updated then or later"`
	Version      string       `query:"version" doc:"latest, or an exact version"`
	Deleted      optionalBool `query:"include_deleted" doc:"Records with the status deleted too; always with updated_since"`
}

// optionalBool is a parameter of which it matters whether it was given.
type optionalBool struct {
	Value bool
	set   bool
}

// Schema is the schema of a boolean.
func (optionalBool) Schema(r huma.Registry) *huma.Schema {
	return huma.SchemaFromType(r, reflect.TypeFor[bool]())
}

// Receiver lets the HTTP library set the value.
func (o *optionalBool) Receiver() reflect.Value { return reflect.ValueOf(o).Elem().Field(0) }

// OnParamSet lets the HTTP library tell whether it did.
func (o *optionalBool) OnParamSet(set bool, _ any) { o.set = set }

type pageOutput struct{ Body registry.Page }

type envelopeOutput struct{ Body registry.Envelope }

// query is what in selects.
func (in *listInput) query() (registry.Query, error) {
	q := registry.Query{Search: strings.TrimSpace(in.Search), Version: in.Version, Limit: in.Limit, Cursor: in.Cursor}
	if in.Search != "" && utf8.RuneCountInString(q.Search) < MinSearch {
		return registry.Query{},
			registry.NewProblem(http.StatusUnprocessableEntity, "search needs at least %d characters", MinSearch)
	}
	if len(q.Search) > MaxText || len(q.Version) > MaxText {
		return registry.Query{},
			registry.NewProblem(http.StatusUnprocessableEntity, "search or version is longer than %d bytes", MaxText)
	}
	if in.UpdatedSince != "" {
		var err error
		if q.UpdatedSince, err = time.Parse(time.RFC3339, in.UpdatedSince); err != nil {
			return registry.Query{},
				registry.NewProblem(http.StatusBadRequest,
					"updated_since is not an RFC 3339 time, such as 2026-01-31T12:00:00Z")
		}
		if in.Deleted.set && !in.Deleted.Value {
			return registry.Query{},
				registry.NewProblem(http.StatusBadRequest,
					"updated_since gives deleted records too: who keeps a copy has to learn of them")
		}
	}
	q.Deleted = in.Deleted.Value || !q.UpdatedSince.IsZero()
	return q, nil
}

func (s *Server) list(ctx context.Context, in *listInput) (*huma.StreamResponse, error) {
	q, err := in.query()
	if err != nil {
		return nil, err
	}
	return answerRendered(func(b []byte) ([]byte, error) {
		b, count, next, err := s.Records.AppendPage(ctx, append(b, `{"servers":[`...), q)
		if err != nil {
			return b, err
		}
		b = strconv.AppendInt(append(b, `],"metadata":{"count":`...), int64(count), 10)
		if next != "" { // base64url, which JSON has no need to escape
			b = append(append(append(b, `,"nextCursor":"`...), next...), '"')
		}
		return append(b, `}}`...), nil
	})
}

// maxSkipped is how many pages of deleted versions alone one request reads past. A name
// may have 10 GB of them.
const maxSkipped = 4

// VersionsInput is a request for the versions of a server.
type VersionsInput struct {
	Name    string `path:"name" doc:"URL-encoded name"`
	Cursor  string `query:"cursor" maxLength:"2048" doc:"metadata.nextCursor of the page before"`
	Deleted bool   `query:"include_deleted" doc:"Versions with the status deleted too"`
}

func (s *Server) versions(ctx context.Context, in *VersionsInput) (*pageOutput, error) {
	records, next, err := s.ShownVersions(ctx, in)
	if err == nil && len(records) == 0 && next == "" && in.Cursor == "" {
		err = registry.ErrNotFound
	}
	if errors.Is(err, registry.ErrNotFound) {
		return nil, registry.NewProblem(http.StatusNotFound, "server %+.200q not found", in.Name)
	}
	if err != nil {
		return nil, err
	}
	return &pageOutput{registry.NewPage(records, next)}, nil
}

// ShownVersions is a page of the versions that in selects.
func (s *Server) ShownVersions(
	ctx context.Context, in *VersionsInput,
) (records []registry.Record, next string, err error) {
	records, next, err = s.Records.Versions(ctx, in.Name, in.Cursor)
	for skipped := 0; !in.Deleted && err == nil; skipped++ {
		records = slices.DeleteFunc(records, func(r registry.Record) bool { return r.Status == registry.Deleted })
		if len(records) > 0 || next == "" || skipped == maxSkipped {
			break
		}
		records, next, err = s.Records.Versions(ctx, in.Name, next) // a page of deleted ones alone
	}
	return records, next, err
}

type versionInput struct {
	Name    string `path:"name" doc:"URL-encoded name"`
	Version string `path:"version" doc:"URL-encoded version, or latest"`
	Deleted bool   `query:"include_deleted" doc:"Even if its status is deleted"`
}

func (s *Server) get(ctx context.Context, in *versionInput) (*huma.StreamResponse, error) {
	out, err := answerRendered(func(b []byte) ([]byte, error) {
		return s.Records.AppendRecord(ctx, b, in.Name, in.Version, in.Deleted)
	})
	if errors.Is(err, registry.ErrNotFound) {
		return nil, registry.NewProblem(http.StatusNotFound, "version %+.200q of server %+.200q not found", in.Version,
			in.Name)
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// edit refuses what the official registry lets its administrators do.
func (s *Server) edit(context.Context, *versionInput) (*envelopeOutput, error) {
	return nil, registry.NewProblem(http.StatusMethodNotAllowed, "records do not change; publish a new version")
}
