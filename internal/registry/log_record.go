package registry

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/hallmark-mcp/hallmark/ledger"
)

// MaxLater is how many of the later entries about a record are named.
const MaxLater = 100

// RecordEntries are the places in the log of what is about one record. Who relies on
// them reads the entries themselves, with proofs; that none is left out is for monitors
// to find.
type RecordEntries struct {
	Index int64   `json:"index" doc:"Of the entry that published it"`
	Later []int64 `json:"later" doc:"Of its statuses and findings, in ascending order; the newest 100"`
}

type recordEntriesOutput struct{ Body RecordEntries }

func (s *server) recordEntries(ctx context.Context, in *provenInput) (*recordEntriesOutput, error) {
	index, err := s.Log.entries.LogIndex(ctx, ledger.Server, in.Name, in.Version)
	if errors.Is(err, ErrNotFound) {
		return nil, problem(http.StatusNotFound, "version %+.200q of server %+.200q not found", in.Version, in.Name)
	}
	if err != nil {
		return nil, err
	}
	later, err := s.Log.entries.LogLater(ctx, in.Name, in.Version, MaxLater)
	if err != nil {
		return nil, err
	}
	return &recordEntriesOutput{RecordEntries{index, append([]int64{}, later...)}}, nil
}

// LogOf returns the places in the log of the entries about a server's record. That they
// are about it is for the caller to check, by reading them.
func (c *Client) LogOf(ctx context.Context, name, version string) (*RecordEntries, error) {
	path, err := escaped("servers", name, "versions", version, "log")
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
