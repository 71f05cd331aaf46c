package registry

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/hallmark-mcp/hallmark/ledger"
)

// MaxLater is how many of the later entries about a record are named: the newest of its
// statuses and the newest of its findings, so that neither pushes the other out.
const (
	MaxLater     = 2 * maxLaterEach
	maxLaterEach = 50
)

// RecordEntries are the places in the log of what is about one record. Who relies on
// them reads the entries themselves, with proofs; that none is left out is for monitors
// to find.
type RecordEntries struct {
	Index int64   `json:"index" doc:"Of the entry that published it"`
	Later []int64 `json:"later" doc:"Of its statuses and findings, in ascending order; the newest 50 of each"`
}

type recordEntriesOutput struct{ Body RecordEntries }

func (s *server) recordEntries(ctx context.Context, in *provenInput) (*recordEntriesOutput, error) {
	entries, err := s.entriesOf(ctx, ledger.Server, in.Name, in.Version)
	return &recordEntriesOutput{entries}, err
}

// entriesOf are the places in the log of what is about one version of what is published as
// kind.
func (s *server) entriesOf(ctx context.Context, kind ledger.Kind, name, version string) (RecordEntries, error) {
	index, err := s.Log.Entries().LogIndex(ctx, kind, name, version)
	if errors.Is(err, ErrNotFound) {
		return RecordEntries{}, problem(http.StatusNotFound, "version %+.200q of %s %+.200q not found", version, kind, name)
	}
	if err != nil {
		return RecordEntries{}, err
	}
	later, err := s.Log.Entries().LogLater(ctx, kind, name, version, maxLaterEach)
	return RecordEntries{index, append([]int64{}, later...)}, err
}

// LogOf returns the places in the log of the entries about a record, of a server or of an
// archive. That they are about it is for the caller to check, by reading them.
func (c *Client) LogOf(ctx context.Context, kind ledger.Kind, name, version string) (*RecordEntries, error) {
	path, err := escaped(plural(kind), name, "versions", version, "log")
	if err != nil {
		return nil, err
	}
	var e RecordEntries
	if err := c.do(ctx, http.MethodGet, path, nil, nil, "", &e); err != nil {
		return nil, err
	}
	if len(e.Later) > MaxLater {
		return nil, fmt.Errorf("registry %s: %s: more than %d entries", c.Base, path, MaxLater)
	}
	return &e, nil
}
