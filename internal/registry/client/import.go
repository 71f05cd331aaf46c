package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/hallmark-mcp/hallmark/internal/registry"
)

// Changes returns one page of everything that changed at or after since, deleted records
// too; a zero since is everything. The official registry answers it as well.
func (c *Client) Changes(ctx context.Context, cursor string, since time.Time) (*registry.Page, error) {
	query := url.Values{"limit": {strconv.Itoa(registry.MaxLimit)}, "include_deleted": {"true"}}
	if cursor != "" {
		query.Set("cursor", cursor)
	}
	if !since.IsZero() {
		query.Set("updated_since", since.UTC().Format(time.RFC3339))
	}
	var p registry.Page
	if err := c.do(ctx, request{method: http.MethodGet, path: "/servers", query: query}, &p); err != nil {
		return nil, err
	}
	return &p, nil
}
