package api

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/log"
	"github.com/hallmark-mcp/hallmark/ledger"
)

// How long answers of the log may be kept by caches. A tile never changes; a checkpoint
// does all the time.
const (
	cacheTile       = "public, max-age=31536000, immutable"
	cacheCheckpoint = "public, max-age=1"
)

// checkWritable refuses a change if the log is not signed any more.
func (s *Server) checkWritable() error {
	if s.Log == nil {
		return nil
	}
	if err := s.Log.Broken(); err != nil {
		return unavailable("%s", log.Reason(err))
	}
	return nil
}

// answerProven waits for the proof of a record's entry, and answers the record with it. Without a
// proof the answer is an error, although the record exists: publishing the same again returns it.
func (s *Server) answerProven(
	ctx context.Context, rec registry.Record, index int64, leaf []byte,
) (*huma.StreamResponse, error) {
	if s.Log == nil {
		return answerRecord(rec, nil)
	}
	proof, err := s.Log.Prove(ctx, index, leaf)
	if err != nil {
		return nil, s.unprovenError(ctx, rec.Name, rec.Version, index, err)
	}
	return answerRecord(rec, proof)
}

// unprovenError is the answer if an entry could not be proven.
func (s *Server) unprovenError(ctx context.Context, name, version string, index int64, err error) error {
	if !errors.Is(err, log.ErrBroken) && !errors.Is(err, registry.ErrUnavailable) {
		return err
	}
	Logger(ctx).Error("no proof", "name", name, "version", version, "entry", index, "error", err)
	return unavailable("version %s of %s is recorded, and its entry in the log is not signed yet: %s; publish the "+
		"same again for the proof", version, name, log.Reason(err))
}

type provenInput struct {
	Name    string `path:"name" doc:"URL-encoded name"`
	Version string `path:"version" doc:"URL-encoded version, or latest"`
}

// proof answers for records of any status: that they were published stays.
func (s *Server) proof(ctx context.Context, in *provenInput) (*huma.StreamResponse, error) {
	version := in.Version
	if version == registry.Latest {
		rec, err := s.Records.Get(ctx, in.Name, registry.Latest)
		if err == nil {
			version = rec.Version
		} else if !errors.Is(err, registry.ErrNotFound) {
			return nil, err
		}
	}
	index, err := s.Log.Entries().LogIndex(ctx, ledger.Server, in.Name, version)
	if errors.Is(err, registry.ErrNotFound) {
		return nil, registry.NewProblem(http.StatusNotFound, "version %+.200q of server %+.200q not found", in.Version,
			in.Name)
	}
	if err != nil {
		return nil, err
	}
	proof, err := s.Log.ProveServed(ctx, index)
	if errors.Is(err, log.ErrBroken) {
		return nil, unavailable("%s", log.Reason(err))
	}
	if err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		ctx.SetHeader("Content-Type", "text/plain; charset=utf-8")
		ctx.SetHeader("Content-Length", strconv.Itoa(len(proof)))
		ctx.SetHeader("Cache-Control", "no-cache")
		ctx.BodyWriter().Write(proof) // an error here is the client's connection
	}}, nil
}

func (s *Server) checkpoint(w http.ResponseWriter, r *http.Request) {
	note := s.Log.Checkpoint()
	if note == nil {
		WriteProblem(w, unavailable("no checkpoint was signed yet"))
		return
	}
	writeLog(w, "text/plain; charset=utf-8", cacheCheckpoint, note)
}

// tile serves tiles of hashes and bundles of entries, including those that are not signed yet.
func (s *Server) tile(w http.ResponseWriter, r *http.Request) {
	t, err := ledger.ParseTilePath(strings.TrimPrefix(r.URL.EscapedPath(), "/"))
	if err != nil {
		WriteProblem(w, registry.NewProblem(http.StatusNotFound, "no such path"))
		return
	}
	cache := cacheTile
	if !ledger.InTree(t, s.Log.Head().Size) {
		// Another replica may have signed it, and this one may not know yet: a client that saw
		// the newer checkpoint must not conclude that the log went back. Only signed entries
		// never change, so that caches must not keep this answer.
		state, err := s.Log.Entries().LogState(r.Context())
		if err == nil && !ledger.InTree(t, state.Size) {
			err = registry.ErrNotFound
		}
		if err != nil {
			s.noTile(w, r, err)
			return
		}
		cache = cacheCheckpoint
	}
	var data []byte
	if t.L == ledger.Entries {
		data, err = s.Log.Bundle(r.Context(), t)
	} else {
		data, err = s.Log.Tile(r.Context(), t)
	}
	if errors.Is(err, registry.ErrNotFound) {
		Logger(r.Context()).Error("the database lacks a part of the log", "tile", ledger.TilePath(t), "error", err)
	}
	if err != nil {
		s.noTile(w, r, err)
		return
	}
	writeLog(w, "application/octet-stream", cache, data)
}

// noTile answers that a tile is not there, or cannot be read.
func (s *Server) noTile(w http.ResponseWriter, r *http.Request, err error) {
	var p *registry.Problem
	if errors.Is(err, registry.ErrNotFound) {
		p = registry.NewProblem(http.StatusNotFound, "the log has no such tile")
	} else if !errors.As(s.Failure(r.Context(), err), &p) {
		return
	}
	WriteProblem(w, p)
}

func writeLog(w http.ResponseWriter, contentType, cache string, data []byte) {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(data)))
	h.Set("Cache-Control", cache)
	w.Write(data) // an error here is the client's connection
}
