package fetch

import (
	"context"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/internal/fetch/transfer"
	"github.com/hallmark-mcp/hallmark/internal/fetch/userconfig"
)

// ordinary is an ecosystem whose Refs are single files, which has no descriptions, names no
// hosts, and is not configured by the user's files.
type ordinary struct{}

func (ordinary) files(_ context.Context, _ *Client, ref artifact.Ref) ([]artifact.Ref, error) {
	return []artifact.Ref{ref}, nil
}

func (ordinary) description(_ context.Context, _ *Client, ref artifact.Ref) (string, error) {
	return "", unsupportedKind(ref)
}

func (ordinary) configure(*Config, *userconfig.Reader) error { return nil }

func (ordinary) route(Config, transfer.Route) *transfer.Route { return nil }

func (ordinary) packageHosts(Config, string) []string { return nil }

func (ordinary) namedHost(artifact.Ref) string { return "" }
