package client

import (
	"context"
	"fmt"
	"net/http"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/ledger"
)

// Checkpoint returns the newest signed checkpoint of the registry's log, unverified: see
// [ledger.Trust]. A registry without a log answers 404.
func (c *Client) Checkpoint(ctx context.Context) ([]byte, error) {
	return c.log(ctx, "/checkpoint", "", ledger.MaxCheckpoint)
}

// Tile returns the bytes at a path of the log such as "tile/0/000.p/7", unverified. With
// a context it is what a [ledger.Reader] fetches with.
func (c *Client) Tile(ctx context.Context, path string) ([]byte, error) {
	t, err := ledger.ParseTilePath(path)
	if err != nil {
		return nil, err
	}
	limit := ledger.TileWidth * tlog.HashSize
	if t.L == ledger.Entries {
		limit = ledger.MaxBundle
	}
	return c.log(ctx, "/"+path, "", limit)
}

// Proof returns the proof that a version was published, unverified: see
// [ledger.ParseProof]. Version may be [registry.Latest].
func (c *Client) Proof(ctx context.Context, name, version string) ([]byte, error) {
	path, err := escapePath("servers", name, "versions", version, "proof")
	if err != nil {
		return nil, err
	}
	return c.log(ctx, path, stable, ledger.MaxProof)
}

func (c *Client) log(ctx context.Context, path, prefix string, limit int) ([]byte, error) {
	text, _, err := c.send(ctx, request{method: http.MethodGet, path: path},
		sending{c.wait(path), prefix, http.Header{}, limit})
	return text, err
}

// LogOf returns the places in the log of the entries about a record, of a server or of an
// archive. That they are about it is for the caller to check, by reading them.
func (c *Client) LogOf(ctx context.Context, kind ledger.Kind, name, version string) (*registry.RecordEntries, error) {
	path, err := escapePath(registry.Plural(kind), name, "versions", version, "log")
	if err != nil {
		return nil, err
	}
	e, err := answerAs[registry.RecordEntries](ctx, c, request{method: http.MethodGet, path: path})
	if err != nil {
		return nil, err
	}
	if len(e.Later) > registry.MaxLater {
		return nil, fmt.Errorf("registry %s: %s: more than %d entries", c.Base, path, registry.MaxLater)
	}
	return e, nil
}
