package registry

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/ledger"
)

// Checkpoint returns the newest checkpoint of the registry's log, a signed note. A
// registry without a log answers with a [*Problem] of status 404.
func (c *Client) Checkpoint(ctx context.Context) ([]byte, error) {
	return c.text(ctx, "checkpoint", ledger.MaxCheckpoint)
}

// Tile returns a file of the log by its path, such as "tile/0/000" or
// "tile/entries/000.p/7". What it holds is for a [ledger.Reader] to check.
func (c *Client) Tile(ctx context.Context, path string) ([]byte, error) {
	if _, err := ledger.ParseTilePath(path); err != nil {
		return nil, err
	}
	return c.text(ctx, path, ledger.MaxBundle)
}

// Proof returns the proof that a server's record is in the log, as text.
func (c *Client) Proof(ctx context.Context, name, version string) ([]byte, error) {
	path, err := escaped("servers", name, "versions", version, "proof")
	if err != nil {
		return nil, err
	}
	return c.text(ctx, "v0.1"+path, ledger.MaxProof)
}

// text returns the body of a path below the registry's base, whatever its media type.
func (c *Client) text(ctx context.Context, path string, limit int64) ([]byte, error) {
	u, err := c.endpoint("", nil)
	if err != nil {
		return nil, evidence.Errorf(evidence.Validation, "", "", err)
	}
	if u, err = url.Parse(strings.TrimSuffix(u.String(), "v0.1") + path); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, c.wait(path))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "text/plain, application/octet-stream, "+problemType)
	req.Header.Set("User-Agent", "hallmark")
	res, err := c.client(path).Do(req)
	if err != nil {
		return nil, fmt.Errorf("registry %s: %w", c.Base, err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, limit+1))
	if err != nil {
		return nil, fmt.Errorf("registry %s: %s: %w", c.Base, path, err)
	}
	if res.StatusCode/100 != 2 {
		return nil, asProblem(res, body)
	}
	if int64(len(body)) > limit {
		return nil, fmt.Errorf("registry %s: %s: the answer is longer than %d bytes", c.Base, path, limit)
	}
	return body, nil
}
