package api

import (
	"context"
	"errors"
	"net/http"

	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/ledger"
)

type recordEntriesOutput struct{ Body registry.RecordEntries }

func (s *Server) recordEntries(ctx context.Context, in *provenInput) (*recordEntriesOutput, error) {
	entries, err := s.entriesOf(ctx, ledger.Server, in.Name, in.Version)
	return &recordEntriesOutput{entries}, err
}

// entriesOf returns the indexes of the log's entries about one version of a kind.
func (s *Server) entriesOf(
	ctx context.Context, kind ledger.Kind, name, version string,
) (registry.RecordEntries, error) {
	index, err := s.Log.Entries().LogIndex(ctx, kind, name, version)
	if errors.Is(err, registry.ErrNotFound) {
		return registry.RecordEntries{},
			registry.NewProblem(http.StatusNotFound, "version %+.200q of %s %+.200q not found", version, kind, name)
	}
	if err != nil {
		return registry.RecordEntries{}, err
	}
	later, err := s.Log.Entries().LogLater(ctx, kind, name, version, registry.MaxLaterEach)
	return registry.RecordEntries{Index: index, Later: append([]int64{}, later...)}, err
}
