package fetch

import (
	"context"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/internal/fetch/transfer"
	"github.com/hallmark-mcp/hallmark/internal/fetch/userconfig"
)

// defaults are the methods of an ecosystem whose Refs are single files, which has no
// descriptions, names no hosts, and is not configured by the user's files. Others embed it.
type defaults struct{}

func (defaults) files(_ context.Context, _ *Client, ref artifact.Ref) ([]artifact.Ref, error) {
	return []artifact.Ref{ref}, nil
}

func (defaults) description(_ context.Context, _ *Client, ref artifact.Ref) (string, error) {
	return "", unsupportedKindError(ref)
}

func (defaults) configure(*Config, *userconfig.Reader) error { return nil }

func (defaults) route(Config, transfer.Route) *transfer.Route { return nil }

func (defaults) packageHosts(Config, string) []string { return nil }

func (defaults) bases(Config, string) ([]string, error) { return nil, nil }

func (defaults) namedHost(artifact.Ref) string { return "" }
